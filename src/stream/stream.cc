#include "stream/stream.h"

#include <algorithm>

#include "stream/rows.h"

namespace sdx::stream {
namespace {

// Longer pushes run in pieces, which bounds the memory of a step.
constexpr int64_t kMostRows = 4096;
constexpr size_t kMostSpares = 4;

Error has_ended() {
  Error error = fail("SDX-S0027", "the stream has ended: finish() was called");
  error.help = "reset() begins a new one";
  return error;
}

Error never_given(const std::string& input) {
  return fail("SDX-S0022", "input \"{}\" is missing; the first push gives it", input);
}

}  // namespace

Stream::Held Stream::Spares::take(DType type, const Dims& dims) {
  for (Held& held : held_) {
    // One owner here, one in the tensor: nobody else reads it.
    if (held.memory.use_count() > 2 || held.tensor.type() != type || held.tensor.dims() != dims)
      continue;
    std::swap(held, held_.back());
    Held found = std::move(held_.back());
    held_.pop_back();
    return found;
  }
  Held made;
  if (type == DType::string) {
    made.tensor = Tensor::make(type, dims);
    return made;
  }
  const size_t bytes = bytes_for(type, element_count(dims) ? *element_count(dims) : 0);
  made.memory = allocate_aligned(std::max<size_t>(bytes, 1));
  made.tensor = Tensor::over(type, dims, made.memory, made.memory.get());
  return made;
}

void Stream::Spares::give(Held held) {
  if (!held.memory) return;
  if (held_.capacity() == 0) held_.reserve(kMostSpares);
  if (held_.size() == kMostSpares) held_.erase(held_.begin());
  held_.push_back(std::move(held));
}

Status Stream::start(Bindings others) {
  SDX_ASSIGN(model_, source_->at(others));
  others_ = std::move(others);
  const Flows& flows = model_->flows();
  const auto& outputs = flows.graph.outputs();
  at_.emplace(flows);
  next_.emplace(flows);
  state_.assign(model_->states().count, {});
  made_.reserve(state_.size() + outputs.size());
  spare_states_.resize(state_.size());
  spare_results_.resize(outputs.size());
  fixed_.resize(flows.graph.inputs().size());
  result_.assign(outputs.size(), {});
  results_.assign(outputs.size(), {});
  nothing_.assign(outputs.size(), {});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Flow& flow = flows.at(outputs[i].outlet);
    if (!flow.moves()) continue;
    Fact fact = flows.graph.fact(outputs[i].outlet);
    (*fact.shape)[flow.axis] = Dim(0);
    nothing_[i] = Tensor::make(fact.type, fact.dims());
  }
  return ok();
}

// The other sizes are those of the first push.
Status Stream::bind(std::span<const Tensor> inputs) {
  const typed::Graph& graph = source_->graph();
  if (inputs.size() != graph.inputs().size())
    return fail("SDX-S0020", "{} inputs given, the model takes {}", inputs.size(),
                graph.inputs().size());
  if (model_) return ok();
  Bindings others;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = graph.fact(graph.inputs()[i]);
    if (inputs[i].empty() || !fact.shape || fact.rank() != inputs[i].rank()) continue;
    for (size_t axis = 0; axis < fact.rank(); ++axis) {
      const Dim dim = fact.dim(axis).bind(others);
      const auto solved = dim.is_const() ? std::nullopt : dim.solve(inputs[i].dims()[axis]);
      if (solved && solved->first != source_->axis()) others.insert(*solved);
    }
  }
  for (const std::string& name : source_->others()) {
    if (!others.contains(name))
      return fail("SDX-S0021", "the first push does not tell the size \"{}\"", name);
  }
  return start(std::move(others));
}

// How many rows the inputs bring. Fixed ones are taken over once.
Result<int64_t> Stream::check(std::span<const Tensor> inputs) {
  const Flows& flows = model_->flows();
  const auto& sources = flows.graph.inputs();
  std::optional<int64_t> rows;
  std::vector<std::pair<size_t, Tensor>> fixed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = flows.graph.fact(sources[i]);
    const std::string& name = flows.graph.node(sources[i].node).use.name;
    const Flow& flow = flows.at(sources[i]);
    const Tensor& given = inputs[i];
    if (given.empty()) {
      if (flow.moves()) return fail("SDX-S0022", "input \"{}\" is missing", name);
      if (fixed_[i].empty()) return never_given(name);
      continue;
    }
    bool fits = given.type() == fact.type && given.rank() == fact.rank();
    for (size_t axis = 0; fits && axis < fact.rank(); ++axis) {
      if (flow.moves() && axis == flow.axis) continue;
      fits = fact.dim(axis).is_const(given.dims()[axis]);
    }
    if (!fits)
      return fail("SDX-S0023", "input \"{}\" is {}{}, expected {}", name, short_name(given.type()),
                  to_string(given.dims()), fact.text());
    if (!flow.moves()) {
      if (fixed_[i].empty()) {
        fixed.emplace_back(i, given.copy());
      } else if (!(fixed_[i] == given)) {
        return fail("SDX-S0024", "input \"{}\" does not move along \"{}\" and has changed", name,
                    flows.symbol);
      }
      continue;
    }
    const int64_t count = given.dims()[flow.axis];
    if (rows && *rows != count)
      return fail("SDX-S0025", "input \"{}\" has {} rows along \"{}\", others have {}", name, count,
                  flows.symbol, *rows);
    rows = count;
  }
  for (auto& [i, tensor] : fixed) fixed_[i] = std::move(tensor);
  return *rows;
}

void Stream::clear_results() {
  for (size_t i = 0; i < results_.size(); ++i) {
    spare_results_[i].give(std::exchange(result_[i], {}));
    results_[i] = nothing_[i];
  }
}

Status Stream::step(std::span<const Tensor> inputs, int64_t rows, const std::vector<int64_t>* ends,
                    const run::RunOptions& options) {
  const Flows& flows = model_->flows();
  advance(flows, *at_, rows, ends, *next_);
  step_key(flows, *at_, *next_, ends != nullptr, key_);
  SDX_ASSIGN(const auto compiled, model_->step(key_, *at_, *next_, ends != nullptr));
  const Step& step = compiled->step;
  const auto drop = [&] {
    for (const size_t index : step.dropped)
      spare_states_[index].give(std::exchange(state_[index], {}));
  };
  if (!compiled->compiled) {
    drop();
    std::swap(at_, next_);
    return ok();
  }
  auto runner = model_->take(*compiled);
  using PortKind = Step::Port::Kind;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    auto& to = std::get<Tensor>(runner->inputs[i]);
    const auto [kind, index] = step.inputs[i];
    if (kind == PortKind::state) {
      to = std::move(state_[index].tensor);
    } else {
      to = flows.at(flows.graph.inputs()[index]).moves() ? inputs[index] : fixed_[index];
    }
  }
  const auto back = [&] {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i].kind != PortKind::state) continue;
      state_[step.inputs[i].index].tensor = std::move(std::get<Tensor>(runner->inputs[i]));
    }
  };
  made_.clear();
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const auto [kind, index] = step.outputs[i];
    const auto& [type, dims] = compiled->outputs[i];
    made_.push_back(
        (kind == PortKind::state ? spare_states_ : spare_results_)[index].take(type, dims));
    runner->outputs[i] = std::move(made_[i].tensor);
  }
  const Status status = runner->session.run_into(runner->inputs, runner->outputs, options);
  back();
  for (size_t i = 0; i < step.outputs.size(); ++i) made_[i].tensor = std::move(runner->outputs[i]);
  model_->give_back(*compiled, std::move(runner));
  if (!status) return status;
  drop();
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const auto [kind, index] = step.outputs[i];
    if (kind == PortKind::state) {
      spare_states_[index].give(std::exchange(state_[index], std::move(made_[i])));
    } else {
      results_[index] = made_[i].tensor;
      result_[index] = std::move(made_[i]);
    }
  }
  std::swap(at_, next_);
  return ok();
}

Status Stream::in_pieces(std::span<const Tensor> inputs, int64_t rows,
                         const run::RunOptions& options) {
  const Flows& flows = model_->flows();
  // An error in a later piece undoes the earlier ones.
  const Stream before = fork();
  std::vector<std::vector<Tensor>> parts(results_.size());
  for (int64_t first = 0; first < rows; first += kMostRows) {
    const int64_t last = std::min(rows, first + kMostRows);
    std::vector<Tensor> piece(inputs.begin(), inputs.end());
    for (size_t i = 0; i < piece.size(); ++i) {
      const Flow& flow = flows.at(flows.graph.inputs()[i]);
      if (flow.moves()) piece[i] = rows_of(inputs[i], flow.axis, first, last);
    }
    clear_results();
    if (Status status = step(piece, last - first, nullptr, options); !status) {
      *this = before.fork();
      return status;
    }
    for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(results_[i]);
  }
  clear_results();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Flow& flow = flows.at(flows.graph.outputs()[i].outlet);
    if (flow.moves()) results_[i] = joined(parts[i], flow.axis);
  }
  return ok();
}

Result<std::span<const Tensor>> Stream::push(std::span<const Tensor> inputs,
                                             const run::RunOptions& options) {
  if (finished_) return has_ended();
  SDX_TRY(bind(inputs));
  SDX_ASSIGN(const int64_t rows, check(inputs));
  if (rows > kMostRows) {
    SDX_TRY(in_pieces(inputs, rows, options));
  } else {
    clear_results();
    SDX_TRY(step(inputs, rows, nullptr, options));
  }
  return std::span<const Tensor>(results_);
}

Result<std::span<const Tensor>> Stream::finish(const run::RunOptions& options) {
  if (finished_) return has_ended();
  if (!model_) {
    if (!source_->others().empty())
      return fail("SDX-S0028", "the stream ends before a push told the size \"{}\"",
                  source_->others()[0]);
    SDX_TRY(start({}));
  }
  const Flows& flows = model_->flows();
  for (size_t i = 0; i < fixed_.size(); ++i) {
    const Outlet input = flows.graph.inputs()[i];
    if (!flows.at(input).moves() && fixed_[i].empty())
      return never_given(flows.graph.node(input.node).use.name);
  }
  SDX_ASSIGN(const std::vector<int64_t> ends, lengths(flows, at_->rows));
  for (size_t wire = 0; wire < ends.size(); ++wire) {
    if (ends[wire] < at_->certain[wire])
      return fail("SDX-S0033", "a wire has {} rows, of which {} were certain", ends[wire],
                  at_->certain[wire]);
  }
  clear_results();
  SDX_TRY(step(fixed_, 0, &ends, options));
  finished_ = true;
  for (size_t i = 0; i < state_.size(); ++i) spare_states_[i].give(std::exchange(state_[i], {}));
  return std::span<const Tensor>(results_);
}

void Stream::reset() {
  finished_ = false;
  if (!model_) return;
  clear_results();
  for (size_t i = 0; i < state_.size(); ++i) spare_states_[i].give(std::exchange(state_[i], {}));
  std::fill(fixed_.begin(), fixed_.end(), Tensor());
  at_.emplace(model_->flows());
  next_.emplace(model_->flows());
  if (!source_->others().empty()) model_.reset();
}

Stream Stream::fork() const {
  Stream other(source_);
  other.model_ = model_;
  other.others_ = others_;
  other.at_ = at_;
  other.next_ = next_;
  other.state_ = state_;  // shared: memory that two hold is not written again
  other.spare_states_.resize(spare_states_.size());
  other.spare_results_.resize(spare_results_.size());
  other.fixed_ = fixed_;
  other.nothing_ = nothing_;
  other.result_.assign(result_.size(), {});
  other.results_ = nothing_;
  other.made_.reserve(state_.size() + result_.size());
  other.finished_ = finished_;
  return other;
}

size_t Stream::state_bytes() const {
  size_t bytes = 0;
  for (const Held& held : state_) {
    if (!held.tensor.empty()) bytes += held.tensor.bytes();
  }
  return bytes;
}

Status push_all(std::span<Stream* const> streams, std::span<const std::span<const Tensor>> inputs,
                std::span<std::span<const Tensor>> results, const run::RunOptions& options) {
  if (streams.size() != inputs.size() || streams.size() != results.size())
    return fail("SDX-S0030", "{} streams, {} inputs and {} places for results", streams.size(),
                inputs.size(), results.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (streams[i] == streams[k])
        return fail("SDX-S0031", "streams {} and {} are the same", k, i);
    }
  }
  if (streams.empty()) return ok();
  std::vector<Status> status(streams.size());
  streams[0]->source()->pool().parallel(streams.size(), 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      auto pushed = streams[i]->push(inputs[i], options);
      if (pushed) {
        results[i] = *pushed;
      } else {
        status[i] = std::move(pushed).error();
      }
    }
  });
  for (size_t i = 0; i < status.size(); ++i) {
    if (!status[i]) return Error(status[i].error()).in(fmt::format("stream {}", i));
  }
  return ok();
}

}  // namespace sdx::stream
