#include "sardonyx/stream.h"

#include "api/bridge.h"
#include "api/errors.h"
#include "api/floating.h"
#include "api/guard.h"
#include "api/streaming.h"

namespace sardonyx {

using sdx::DefaultFloating;

namespace {

sdx::run::RunOptions engine_options(const RunOptions& options) {
  sdx::run::RunOptions engine;
  engine.stop = options.stop;
  engine.most_iterations = options.loop_limit;
  if (options.time_limit)
    engine.deadline = sdx::run::RunOptions::Clock::now() + *options.time_limit;
  return engine;
}

void give(const sdx::Tensor& rows, const std::shared_ptr<void>& owner, Tensor& into) {
  if (owner != nullptr || rows.count() == 0) return Bridge::out(rows, owner, into);
  into = Bridge::out(rows);
}

}  // namespace

struct Stream::State {
  explicit State(std::shared_ptr<const sdx::stream::Source> source) : stream(std::move(source)) {
    const sdx::typed::Graph& graph = stream.source()->graph();
    for (const sdx::typed::Outlet input : graph.inputs())
      inputs.push_back(Bridge::port(graph.node(input.node).use.name, graph.fact(input)));
    std::vector<std::string> given;
    for (const sdx::typed::Output& output : graph.outputs()) {
      outputs.push_back(Bridge::port(output.name, graph.fact(output.outlet)));
      given.push_back(output.name);
    }
    names = std::make_shared<const std::vector<std::string>>(std::move(given));
    bound.resize(inputs.size());
    results.resize(outputs.size());
  }
  State(const State& other, sdx::stream::Stream from) : State(other.stream.source()) {
    stream = std::move(from);
  }

  sdx::Result<std::vector<sdx::Tensor>> arguments(std::span<const NamedValue> given) const {
    std::vector<sdx::Tensor> tensors(inputs.size());
    for (const NamedValue& value : given) {
      size_t at = 0;
      while (at < inputs.size() && inputs[at].name != value.first) ++at;
      if (at == inputs.size())
        return sdx::no_such_input(value.first,
                                  sdx::listed(inputs, [](const Port& port) { return port.name; }));
      const auto* tensor = std::get_if<Tensor>(&value.second);
      if (tensor == nullptr) return sdx::no_stream_of(value.first);
      tensors[at] = Bridge::in(*tensor);
    }
    return tensors;
  }
  Outputs outputs_of(std::span<const sdx::Tensor> rows) const {
    std::vector<sdx::Value> values;
    for (const sdx::Tensor& tensor : rows)
      values.push_back(tensor.empty() ? sdx::Value() : sdx::Value(tensor));
    return Bridge::outputs(names, values);
  }

  sdx::stream::Stream stream;
  std::vector<Port> inputs, outputs;
  std::shared_ptr<const std::vector<std::string>> names;
  std::vector<sdx::Tensor> bound;  // the inputs of the last push_tensors
  std::vector<Tensor> results;     // its results
};

Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Expected<Stream> Stream::try_open(const Model& model, const std::string& axis,
                                  const Options& options) {
  const DefaultFloating floating;
  return guarded("making the model ready for streams", [&]() -> Expected<Stream> {
    const auto engine = Bridge::options(options);
    if (!engine) return Bridge::error(engine.error());
    auto source = sdx::stream_source(Bridge::model_of(model), axis, *engine);
    if (!source) return Bridge::error(source.error());
    // Whether it can be streamed is said now, for sizes of 1 where they are open.
    sdx::Bindings others;
    for (const std::string& name : (*source)->others()) others[name] = 1;
    const auto model_along = (*source)->at(others);
    if (!model_along) return Bridge::error(model_along.error());
    return Stream(std::make_unique<State>(*std::move(source)));
  });
}

const std::vector<Port>& Stream::inputs() const { return state_->inputs; }
const std::vector<Port>& Stream::outputs() const { return state_->outputs; }
int64_t Stream::rows() const { return state_->stream.rows(); }
size_t Stream::state_bytes() const { return state_->stream.state_bytes(); }

Expected<Outputs> Stream::try_push(std::span<const NamedValue> inputs, const RunOptions& options) {
  const DefaultFloating floating;
  return guarded("pushing rows", [&]() -> Expected<Outputs> {
    const auto given = state_->arguments(inputs);
    if (!given) return Bridge::error(given.error());
    const auto rows = state_->stream.push(*given, engine_options(options));
    if (!rows) return Bridge::error(rows.error());
    return state_->outputs_of(*rows);
  });
}

Expected<Outputs> Stream::try_finish(const RunOptions& options) {
  const DefaultFloating floating;
  return guarded("ending the stream", [&]() -> Expected<Outputs> {
    const auto rows = state_->stream.finish(engine_options(options));
    if (!rows) return Bridge::error(rows.error());
    return state_->outputs_of(*rows);
  });
}

Expected<std::span<const Tensor>> Stream::try_push_tensors(std::span<const Tensor> inputs,
                                                           const RunOptions& options) {
  const DefaultFloating floating;
  return guarded("pushing rows", [&]() -> Expected<std::span<const Tensor>> {
    State& state = *state_;
    state.bound.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!Bridge::same(state.bound[i], inputs[i])) state.bound[i] = Bridge::in(inputs[i]);
    }
    // What nobody copied may be written again.
    for (Tensor& result : state.results) Bridge::forget(result);
    const auto rows = state.stream.push(state.bound, engine_options(options));
    if (!rows) return Bridge::error(rows.error());
    for (size_t i = 0; i < rows->size(); ++i)
      give((*rows)[i], state.stream.owner(i), state.results[i]);
    return std::span<const Tensor>(state.results);
  });
}

Expected<std::vector<Outputs>> Stream::try_push_all(std::span<Stream* const> streams,
                                                    std::span<const std::vector<NamedValue>> inputs,
                                                    const RunOptions& options) {
  const DefaultFloating floating;
  return guarded("pushing rows of several streams", [&]() -> Expected<std::vector<Outputs>> {
    if (streams.size() != inputs.size())
      return Bridge::error(sdx::wrong_streams(streams.size(), inputs.size()));
    std::vector<sdx::stream::Stream*> engines;
    std::vector<std::vector<sdx::Tensor>> given;
    for (size_t i = 0; i < streams.size(); ++i) {
      engines.push_back(&streams[i]->state_->stream);
      auto tensors = streams[i]->state_->arguments(inputs[i]);
      if (!tensors) return Bridge::error(tensors.error());
      given.push_back(*std::move(tensors));
    }
    const std::vector<std::span<const sdx::Tensor>> chunks(given.begin(), given.end());
    std::vector<std::span<const sdx::Tensor>> rows(streams.size());
    const auto status = sdx::stream::push_all(engines, chunks, rows, engine_options(options));
    if (!status) return Bridge::error(status.error());
    std::vector<Outputs> results;
    for (size_t i = 0; i < streams.size(); ++i)
      results.push_back(streams[i]->state_->outputs_of(rows[i]));
    return results;
  });
}

void Stream::reset() { state_->stream.reset(); }

Stream Stream::fork() const {
  return Stream(std::make_unique<State>(*state_, state_->stream.fork()));
}

Stream Stream::another() const { return Stream(std::make_unique<State>(state_->stream.source())); }

std::string Stream::save() const { return state_->stream.save(); }

std::optional<Error> Stream::try_restore(std::string_view saved) {
  const auto status = state_->stream.restore(saved);
  if (status) return std::nullopt;
  return Bridge::error(status.error());
}

void Stream::restore(std::string_view saved) {
  if (auto error = try_restore(saved)) throw *std::move(error);
}

}  // namespace sardonyx
