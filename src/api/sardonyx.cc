// The public model and session, over the engine.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "api/bridge.h"
#include "api/engine.h"
#include "api/errors.h"
#include "api/floating.h"
#include "api/guard.h"
#include "model/text.h"
#include "rowwise/rowwise.h"

namespace sardonyx {

using sdx::DefaultFloating;

namespace {

// Inputs whose value the model itself holds are not part of the signature.
std::vector<Port> declared_inputs(const sdx::model::Graph& graph) {
  std::set<std::string_view> initialized;
  for (const sdx::model::TensorData& init : graph.initializer) initialized.insert(init.name);
  for (const sdx::model::SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) initialized.insert(init.values->name);
  }
  std::vector<Port> ports;
  for (const sdx::model::ValueInfo& info : graph.input) {
    if (initialized.contains(info.name)) continue;
    ports.push_back(Bridge::port(info.name, sdx::check::declared_fact(info)));
  }
  return ports;
}

std::vector<Port> declared_outputs(const sdx::model::Graph& graph) {
  std::vector<Port> ports;
  for (const sdx::model::ValueInfo& info : graph.output) {
    ports.push_back(Bridge::port(info.name, sdx::check::declared_fact(info)));
  }
  return ports;
}

std::string listed(const std::vector<Port>& ports) {
  return sdx::listed(ports, [](const Port& port) -> const std::string& { return port.name; });
}

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* x = static_cast<const std::byte*>(a.data());
  const auto* y = static_cast<const std::byte*>(b.data());
  const std::less<const std::byte*> before;
  return a.bytes() > 0 && b.bytes() > 0 && before(x, y + b.bytes()) && before(y, x + a.bytes());
}

// Results are written while arguments and other results are in use.
sdx::Status apart(std::span<const Tensor> in, std::span<const Tensor> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (overlap(out[i], out[k])) {
        return sdx::fail("SDX-A0008", "results {} and {} share memory", k, i);
      }
    }
    for (size_t k = 0; k < in.size(); ++k) {
      if (overlap(out[i], in[k])) {
        return sdx::fail("SDX-A0008", "result {} and argument {} share memory", i, k);
      }
    }
  }
  return sdx::ok();
}

}  // namespace

struct Model::State {
  explicit State(std::shared_ptr<const sdx::model::Model> read) : model(std::move(read)) {
    if (!model->graph) return;
    inputs = declared_inputs(*model->graph);
    outputs = declared_outputs(*model->graph);
  }

  std::shared_ptr<const sdx::model::Model> model;
  std::vector<Port> inputs, outputs;
};

struct Session::State {
  // One compiled form of the model: with its initializers, or with some of them as inputs.
  struct Form {
    explicit Form(std::shared_ptr<const sdx::plan::Compiled> made)
        : compiled(made), session(std::move(made)) {
      std::vector<std::string> output_names;
      const sdx::typed::Graph& graph = compiled->graph();
      for (const sdx::typed::Outlet source : graph.inputs()) {
        inputs.push_back(Bridge::port(graph.node(source.node).use.name, graph.fact(source)));
      }
      for (const sdx::typed::Output& output : graph.outputs()) {
        outputs.push_back(Bridge::port(output.name, graph.fact(output.outlet)));
        output_names.push_back(output.name);
      }
      names = std::make_shared<const std::vector<std::string>>(std::move(output_names));
    }

    std::shared_ptr<const sdx::plan::Compiled> compiled;
    sdx::run::Session session;
    std::vector<Port> inputs, outputs;
    std::shared_ptr<const std::vector<std::string>> names;
  };

  explicit State(std::shared_ptr<const sdx::plan::Compiled> made) : main(std::move(made)) {}

  // The session's own; an error if it was moved to another one.
  static State& of(const std::unique_ptr<State>& state) {
    if (state == nullptr)
      throw Bridge::error(sdx::fail("SDX-A0030", "the session was moved from: it has no model"));
    return *state;
  }

  // One thread's time with the session. Another that comes meanwhile gets an error, not a crash.
  class Turn {
   public:
    explicit Turn(State& state) : state_(state), mine_(!state.busy.test_and_set()) {}
    ~Turn() {
      if (mine_) state_.busy.clear();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::optional<Error> refused() const {
      if (mine_) return std::nullopt;
      sdx::Error error = sdx::fail("SDX-A0031", "another thread is running this session");
      error.help = "session.another() gives each thread its own, with the same weights";
      return Bridge::error(error);
    }

   private:
    State& state_;
    bool mine_;
  };
  std::atomic_flag busy;

  sdx::Result<Form*> form_for(std::span<const NamedValue> given);
  sdx::Result<std::vector<sdx::Value>> arguments(const Form& form,
                                                 std::span<const NamedValue> given) const;
  sdx::Result<std::vector<bool>> wanted(const Form& form,
                                        const std::vector<std::string>& outputs) const;
  sdx::Result<Outputs> run(std::span<const NamedValue> given, const RunOptions& options);
  sdx::Result<size_t> arena_bytes(std::span<const NamedValue> given);
  sdx::Status run_into(std::span<const Tensor> in, std::span<Tensor> out);

  Form main;
  std::shared_ptr<const sdx::model::Model> model;  // for other forms; none: there are none
  sdx::CompileOptions options;
  std::map<std::set<std::string>, std::unique_ptr<Form>> forms;  // by the initializers given
  std::vector<std::pair<std::string, std::string>> kept;         // output, input
  std::map<std::string, sdx::Value, std::less<>> state;          // by input
  // What run_into was last given, as the engine takes it: made anew only where a type, shape or
  // address changes.
  std::vector<sdx::Value> bound_inputs;
  std::vector<sdx::Tensor> bound_outputs;
};

// The form whose inputs are the model's and those initializers that are given.
sdx::Result<Session::State::Form*> Session::State::form_for(std::span<const NamedValue> given) {
  std::set<std::string> overridden;
  for (const auto& [name, value] : given) {
    const auto named = [&, wanted = name](const auto& port) { return port.name == wanted; };
    if (std::any_of(main.inputs.begin(), main.inputs.end(), named)) continue;
    if (model == nullptr ||
        std::none_of(model->graph->input.begin(), model->graph->input.end(), named)) {
      return sdx::no_such_input(name, listed(main.inputs));
    }
    overridden.emplace(name);
  }
  if (overridden.empty()) return &main;
  std::unique_ptr<Form>& form = forms[overridden];
  if (form == nullptr) {
    sdx::CompileOptions other = options;
    other.overridden = overridden;
    SDX_ASSIGN(auto compiled, sdx::compile(model, other));
    form = std::make_unique<Form>(std::move(compiled));
  }
  return form.get();
}

// One value per input, in the model's order.
sdx::Result<std::vector<sdx::Value>> Session::State::arguments(
    const Form& form, std::span<const NamedValue> given) const {
  const std::vector<Port>& inputs = form.inputs;
  std::vector<sdx::Value> values(inputs.size());
  std::vector<bool> filled(inputs.size());
  for (const auto& [name, value] : given) {
    const auto named = [&, wanted = name](const Port& port) { return port.name == wanted; };
    const auto i =
        static_cast<size_t>(std::find_if(inputs.begin(), inputs.end(), named) - inputs.begin());
    values[i] = Bridge::in(value);
    filled[i] = true;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (filled[i]) continue;
    const auto held = state.find(inputs[i].name);
    if (held == state.end()) {
      return sdx::no_value_for(inputs[i].name, listed(inputs));
    }
    values[i] = held->second;
  }
  return values;
}

// The outputs to compute: those asked for, and those that are kept.
sdx::Result<std::vector<bool>> Session::State::wanted(
    const Form& form, const std::vector<std::string>& outputs) const {
  std::vector<bool> wanted(form.names->size(), false);
  const auto want = [&](const std::string& name) {
    const auto at = std::find(form.names->begin(), form.names->end(), name);
    if (at == form.names->end()) return false;
    wanted[static_cast<size_t>(at - form.names->begin())] = true;
    return true;
  };
  for (const std::string& name : outputs) {
    if (!want(name)) return sdx::no_such_output(name, listed(form.outputs));
  }
  for (const auto& [output, input] : kept) (void)want(output);
  return wanted;
}

sdx::Result<Outputs> Session::State::run(std::span<const NamedValue> given,
                                         const RunOptions& options) {
  SDX_ASSIGN(Form * form, form_for(given));
  SDX_ASSIGN(const std::vector<sdx::Value> values, arguments(*form, given));
  sdx::run::RunOptions engine;
  engine.stop = options.stop;
  engine.most_iterations = options.loop_limit;
  if (options.time_limit)
    engine.deadline = sdx::run::RunOptions::Clock::now() + *options.time_limit;
  std::vector<bool> mask;
  if (!options.outputs.empty()) {
    SDX_ASSIGN(mask, wanted(*form, options.outputs));
    engine.wanted = &mask;
  }
  SDX_ASSIGN(const std::vector<sdx::Value> results, form->session.run(values, engine));
  const auto result = [&](const std::string& name) -> const sdx::Value& {
    const auto at = std::find(form->names->begin(), form->names->end(), name);
    return results[static_cast<size_t>(at - form->names->begin())];
  };
  // The caller may write into what it gets, so the state is a copy.
  for (const auto& [output, input] : kept) {
    const sdx::Value& value = result(output);
    state[input] = value.is_tensor() ? sdx::Value(value.tensor().copy()) : value;
  }
  if (options.outputs.empty()) return Bridge::outputs(form->names, results);
  std::vector<sdx::Value> chosen;
  for (const std::string& name : options.outputs) chosen.push_back(result(name));
  return Bridge::outputs(std::make_shared<const std::vector<std::string>>(options.outputs), chosen);
}

sdx::Result<size_t> Session::State::arena_bytes(std::span<const NamedValue> given) {
  SDX_ASSIGN(Form * form, form_for(given));
  SDX_ASSIGN(const std::vector<sdx::Value> values, arguments(*form, given));
  SDX_ASSIGN(const auto plan, form->compiled->plan_for(values));
  return plan->arena_bytes;
}

sdx::Status Session::State::run_into(std::span<const Tensor> in, std::span<Tensor> out) {
  SDX_TRY(apart(in, out));
  bound_inputs.resize(in.size());
  bound_outputs.resize(out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    sdx::Value& bound = bound_inputs[i];
    if (!bound.is_tensor() || !Bridge::same(bound.tensor(), in[i])) bound = Bridge::in(in[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!Bridge::same(bound_outputs[i], out[i])) bound_outputs[i] = Bridge::in(out[i]);
  }
  return main.session.run_into(bound_inputs, bound_outputs);
}

Model Bridge::model(std::shared_ptr<const sdx::model::Model> model) {
  return Bridge::model(std::make_shared<const Model::State>(std::move(model)));
}

Session Bridge::session(std::shared_ptr<const sdx::plan::Compiled> compiled,
                        std::shared_ptr<const sdx::model::Model> model,
                        const sdx::CompileOptions* options) {
  auto state = std::make_unique<Session::State>(std::move(compiled));
  state->model = std::move(model);
  if (options != nullptr) state->options = *options;
  return Session(std::move(state));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<Port>& Session::inputs() const { return State::of(state_).main.inputs; }
const std::vector<Port>& Session::outputs() const { return State::of(state_).main.outputs; }
size_t Session::arena_bytes() const { return State::of(state_).main.session.arena_bytes(); }
std::vector<std::string> Session::notes() const { return State::of(state_).main.compiled->notes(); }
int Session::threads() const { return State::of(state_).main.compiled->pool().threads(); }

Session Session::another() const {
  const State& state = State::of(state_);
  Session other = Bridge::session(state.main.compiled, state.model, &state.options);
  other.state_->kept = state.kept;
  return other;
}

Expected<Outputs> Session::try_run(std::span<const NamedValue> inputs, const RunOptions& options) {
  const DefaultFloating floating;
  return guarded("running the model", [&]() -> Expected<Outputs> {
    State& state = State::of(state_);
    const State::Turn turn(state);
    if (auto refused = turn.refused()) return *std::move(refused);
    auto results = state.run(inputs, options);
    if (!results) return Bridge::error(results.error());
    return *std::move(results);
  });
}

Expected<size_t> Session::try_arena_bytes(std::span<const NamedValue> inputs) {
  const DefaultFloating floating;
  return guarded("planning a run", [&]() -> Expected<size_t> {
    State& state = State::of(state_);
    const State::Turn turn(state);
    if (auto refused = turn.refused()) return *std::move(refused);
    const auto bytes = state.arena_bytes(inputs);
    if (!bytes) return Bridge::error(bytes.error());
    return *bytes;
  });
}

void Session::keep(std::string_view output, std::string_view input) {
  const auto named = [](std::string_view name) {
    return [name](const Port& port) { return port.name == name; };
  };
  const std::vector<Port>&ins = inputs(), &outs = this->outputs();
  if (std::none_of(outs.begin(), outs.end(), named(output))) {
    throw Bridge::error(sdx::no_such_output(output, listed(outs)));
  }
  if (std::none_of(ins.begin(), ins.end(), named(input))) {
    throw Bridge::error(sdx::no_such_input(input, listed(ins)));
  }
  State::of(state_).kept.emplace_back(output, input);
}

std::optional<Value> Session::state(std::string_view input) const {
  const auto at = State::of(state_).state.find(input);
  if (at == State::of(state_).state.end()) return std::nullopt;
  return Bridge::out(at->second.is_tensor() ? sdx::Value(at->second.tensor().copy()) : at->second);
}

void Session::set_state(std::string_view input, Value value) {
  const sdx::Value given = Bridge::in(value);
  State::of(state_).state.insert_or_assign(
      std::string(input), given.is_tensor() ? sdx::Value(given.tensor().copy()) : given);
}

void Session::forget_state() { State::of(state_).state.clear(); }

std::optional<Error> Session::try_run_into(std::span<const Tensor> inputs,
                                           std::span<Tensor> outputs) {
  const DefaultFloating floating;
  return guarded("running the model", [&]() -> std::optional<Error> {
    State& state = State::of(state_);
    const State::Turn turn(state);
    if (auto refused = turn.refused()) return refused;
    const sdx::Status status = state.run_into(inputs, outputs);
    if (!status) return Bridge::error(status.error());
    return std::nullopt;
  });
}

void Session::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (std::optional<Error> error = try_run_into(inputs, outputs)) throw *std::move(error);
}

Expected<Model> Model::try_load(const std::string& path) {
  return guarded("loading the model", [&]() -> Expected<Model> {
    auto model = sdx::model::read_file(path);
    if (!model) return Bridge::error(model.error());
    return Bridge::model(*std::move(model));
  });
}

Expected<Model> Model::try_parse(std::span<const std::byte> bytes, const std::string& folder) {
  return guarded("loading the model", [&]() -> Expected<Model> {
    auto model = sdx::model::read_bytes(bytes, {}, folder);
    if (!model) return Bridge::error(model.error());
    return Bridge::model(*std::move(model));
  });
}

Expected<Model> Model::try_from_text(std::string_view text) {
  return guarded("parsing the model", [&]() -> Expected<Model> {
    auto model = sdx::model::parse_text(text);
    if (!model) return Bridge::error(model.error());
    return Bridge::model(std::make_shared<const State>(
        std::make_shared<const sdx::model::Model>(*std::move(model))));
  });
}

std::string Model::text() const { return sdx::model::print_text(*state_->model); }

std::vector<Error> Model::check() const {
  const DefaultFloating floating;
  const std::optional<Error> found = guarded("checking the model", [&]() -> std::optional<Error> {
    sdx::CompileOptions options;
    options.accept = sdx::check::Accept::strict;
    const auto graph = sdx::type(state_->model, options);
    if (!graph) return Bridge::error(graph.error());
    return std::nullopt;
  });
  if (found) return {*found};
  return {};
}

const std::vector<Port>& Model::inputs() const { return state_->inputs; }
const std::vector<Port>& Model::outputs() const { return state_->outputs; }

RowWise Model::row_wise() const {
  const DefaultFloating floating;
  RowWise answer;
  const std::optional<Error> failed = guarded("analysing the model", [&]() -> std::optional<Error> {
    const auto graph = sdx::type(state_->model);
    if (!graph) return Bridge::error(graph.error());
    const sdx::rowwise::RowWise found = sdx::rowwise::analyse(*graph);
    answer.proved = found.proved;
    answer.reason = found.reason;
    for (size_t i = 0; i < found.inputs.size(); ++i) {
      if (found.inputs[i]) answer.inputs.push_back(graph->node(graph->inputs()[i].node).use.name);
    }
    return std::nullopt;
  });
  if (failed) answer = {false, failed->message(), {}};
  return answer;
}

// The engine's session for a model.
const std::shared_ptr<const sdx::model::Model>& Bridge::model_of(const Model& model) {
  return model.state_->model;
}

sdx::Result<sdx::CompileOptions> Bridge::options(const Options& options) {
  sdx::CompileOptions engine;
  engine.threads = options.threads;
  engine.optimize = options.optimize;
  engine.strict = options.strict;
  engine.accept =
      options.accept == Accept::strict ? sdx::check::Accept::strict : sdx::check::Accept::common;
  engine.set = {options.set.begin(), options.set.end()};
  engine.most_plans = options.plans;
  engine.pack_cache = options.pack_cache;
  if (options.arena_bytes != 0) engine.most_arena_bytes = options.arena_bytes;
  if (options.isa != Isa::native) {
    engine.isa = options.isa == Isa::avx512 ? sdx::Isa::avx512
                 : options.isa == Isa::avx2 ? sdx::Isa::avx2
                 : options.isa == Isa::neon ? sdx::Isa::neon
                                            : sdx::Isa::portable;
    if (!sdx::isa_available(engine.isa)) return sdx::no_such_isa(sdx::isa_name(engine.isa));
  }
  return engine;
}

static Expected<Session> compiled_from(const std::shared_ptr<const sdx::model::Model>& model,
                                       const Options& options) {
  const auto engine = Bridge::options(options);
  if (!engine) return Bridge::error(engine.error());
  auto compiled = sdx::compile(model, *engine);
  if (!compiled) return Bridge::error(compiled.error());
  return Bridge::session(*std::move(compiled), model, &*engine);
}

Expected<Session> Model::try_compile(const Options& options) const {
  const DefaultFloating floating;
  return guarded("compiling the model",
                 [&]() -> Expected<Session> { return compiled_from(state_->model, options); });
}

}  // namespace sardonyx
