#include "serve/model/served_model.h"

#include <algorithm>
#include <cstring>

#include "serve/model/file_digest.h"

namespace sardonyx::serve {
namespace {

// By name, type and sizes of the inputs.
uint64_t shapes_of(const InferRequest& request) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccd, hash ^= hash >> 32;
  };
  for (const InputTensor& input : request.inputs) {
    mix(std::hash<std::string>()(input.name));
    mix(static_cast<uint64_t>(input.tensor.type()));
    for (const int64_t dim : input.tensor.dims()) mix(static_cast<uint64_t>(dim) + 1);
  }
  return hash | 1;
}

}  // namespace

Outcome<std::shared_ptr<ServedModel>> ServedModel::load(
    const std::string& name, const std::string& version, const std::string& path,
    const ModelSettings& settings, size_t workers, std::shared_ptr<Budget> budget) {
  std::shared_ptr<ServedModel> served(new ServedModel());
  if (!settings.sha256.empty()) {
    const std::string found = file_sha256(path);
    if (found != settings.sha256) {
      return Failure{Kind::unavailable, "SDX-V0403: " + path + " has the SHA-256 " + found +
                                            ", not the pinned " + settings.sha256};
    }
  }
  auto model = Model::try_load(path);
  if (!model) return failure_of(model.error());
  if (const std::vector<Error> errors = model->check(); !errors.empty()) {
    Failure failure = failure_of(errors.front());
    if (errors.size() > 1)
      failure.message += " (and " + std::to_string(errors.size() - 1) + " more)";
    return failure;
  }
  Options options;
  options.threads = settings.threads;
  options.strict = settings.strict;
  options.plans = std::max<size_t>(16, settings.most_rows);
  options.arena_bytes = settings.arena_bytes;
  if (budget->on() && (options.arena_bytes == 0 || options.arena_bytes > budget->bytes()))
    options.arena_bytes = budget->bytes();
  options.pack_cache = settings.pack_cache;
  auto session = model->try_compile(options);
  if (!session) return failure_of(session.error());
  served->name_ = name;
  served->version_ = version;
  served->path_ = path;
  served->settings_ = settings;
  served->inputs_ = session->inputs();
  served->outputs_ = session->outputs();
  for (const Port& output : served->outputs_) {
    if (output.type != Type::undefined) served->tensor_outputs_.push_back(output.name);
  }
  if (settings.batching) {
    const RowWise rows = model->row_wise();
    served->batching_ = {rows.proved, rows.reason, {}};
    for (const Port& input : served->inputs_) {
      served->batching_.inputs_by_row.push_back(
          std::find(rows.inputs.begin(), rows.inputs.end(), input.name) != rows.inputs.end());
    }
    if (served->tensor_outputs_.size() < served->outputs_.size())
      served->batching_ = {false, "an output is not a tensor", {}};
  } else {
    served->batching_.reason = "it is switched off";
  }
  served->notes_ = session->notes();
  served->concurrency_ =
      settings.concurrency > 0 ? settings.concurrency : std::max<size_t>(1, workers);
  served->origin_.emplace(std::move(*session));
  served->budget_ = std::move(budget);
  if (served->budget_->on())
    served->budget_->join(served.get(), [model = served.get()] { model->give_up_idle(); });
  if (settings.warm_up) served->warm_up();
  return served;
}

// Runs zeros of the declared sizes, open ones 1: plans are made, pages touched and the time known.
void ServedModel::warm_up() {
  InferRequest request;
  for (const Port& port : inputs_) {
    if (port.type == Type::undefined || !port.dims) return;
    Dims dims;
    for (const Size& size : *port.dims) dims.push_back(size.number.value_or(1));
    const std::optional<size_t> count = count_of(dims);
    if (!count || *count > size_t{1} << 28) return;
    request.inputs.push_back({port.name, Tensor(port.type, dims)});
  }
  Lease seat = lease();
  if (!seat) return;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    if (!run(*seat, request, nullptr, start + std::chrono::seconds(10), start)) return;
    // The first run makes plans.
    if (i > 0) took(request, static_cast<uint64_t>((Clock::now() - start).count()));
  }
}

const Port* ServedModel::input(std::string_view name) const {
  for (const Port& port : inputs_) {
    if (port.name == name) return &port;
  }
  return nullptr;
}

ServedModel::Lease ServedModel::lease() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (seats_.size() >= concurrency_) return {};
    seats_.push_back({origin_->another()});
    return {this, &seats_.back()};
  }
  Seat* seat = free_.back();
  free_.pop_back();
  return {this, seat};
}

ServedModel::~ServedModel() {
  if (!budget_ || !budget_->on()) return;
  budget_->leave(this);
  for (const Seat& seat : seats_) budget_->give(seat.arena_bytes);
}

// Sessions that run nothing begin anew, without the memory of their last runs.
void ServedModel::give_up_idle() {
  const std::lock_guard lock(mutex_);
  for (Seat* seat : free_) {
    if (seat->arena_bytes == 0) continue;
    seat->session = origin_->another();
    budget_->give(std::exchange(seat->arena_bytes, 0));
  }
}

// Counts what a run with these inputs will hold, before it does.
std::optional<Failure> ServedModel::make_room(Seat& seat, const std::vector<NamedValue>& inputs,
                                              Clock::time_point memory_by) {
  auto asked = seat.session.try_arena_bytes(inputs);
  if (!asked) return failure_of(asked.error());
  const size_t needed = *asked;
  if (needed <= seat.arena_bytes) return std::nullopt;
  if (budget_->take(needed - seat.arena_bytes, Clock::time_point::min())) {
    seat.arena_bytes = needed;
    return std::nullopt;
  }
  // Whoever waits holds nothing, so that those who wait do not wait for each other.
  seat.session = origin_->another();
  budget_->give(std::exchange(seat.arena_bytes, 0));
  if (budget_->take(needed, memory_by)) {
    seat.arena_bytes = needed;
    return std::nullopt;
  }
  return Failure{Kind::overloaded,
                 "SDX-V0424: a run of model \"" + name_ + "\" needs " + std::to_string(needed) +
                     " bytes of working memory; of " + std::to_string(budget_->bytes()) + " are " +
                     std::to_string(budget_->used()) + " in use",
                 1};
}

ServedModel::Lease::~Lease() {
  if (model_ == nullptr) return;
  const std::lock_guard lock(model_->mutex_);
  model_->free_.push_back(seat_);
}

bool ServedModel::has_room(Seat& seat, const InferRequest& request) {
  if (!budget_->on()) return true;
  std::vector<NamedValue> inputs;
  for (const InputTensor& given : request.inputs) inputs.emplace_back(given.name, given.tensor);
  return !make_room(seat, inputs, Clock::time_point::min());
}

std::optional<Failure> ServedModel::complain(const InferRequest& request) const {
  for (const InputTensor& given : request.inputs) {
    const Port* port = input(given.name);
    if (port == nullptr) {
      std::string message =
          "SDX-V0410: model \"" + name_ + "\" has no input \"" + given.name + "\"; it has";
      for (const Port& known : inputs_) message += " \"" + known.name + "\"";
      return Failure{Kind::bad_request, message};
    }
    if (port->type != Type::undefined && port->type != given.tensor.type()) {
      return Failure{Kind::bad_request, "SDX-V0411: input \"" + given.name + "\" is " +
                                            std::string(datatype_of(given.tensor.type())) +
                                            "; the model expects " + port->text + ", " +
                                            std::string(datatype_of(port->type))};
    }
  }
  return std::nullopt;
}

Outcome<Outputs> ServedModel::run_named(Seat& seat, const std::vector<NamedValue>& inputs,
                                        const InferRequest& request, const std::atomic<bool>* stop,
                                        Clock::time_point deadline, Clock::time_point memory_by) {
  if (budget_->on()) {
    if (auto failure = make_room(seat, inputs, std::min(memory_by, deadline)))
      return *std::move(failure);
  }
  RunOptions options;
  options.stop = stop;
  if (deadline != Clock::time_point::max()) {
    const auto left = deadline - Clock::now();
    if (left.count() <= 0) return Failure{Kind::deadline, "SDX-V0412: the request's time is over"};
    options.time_limit = left;
  }
  for (const WantedOutput& output : request.outputs) options.outputs.push_back(output.name);
  if (request.outputs.empty() && tensor_outputs_.size() < outputs_.size()) {
    options.outputs = tensor_outputs_;
  }
  if (!options.outputs.empty()) {
    for (const auto& [output, input] : settings_.states) {
      if (std::find(options.outputs.begin(), options.outputs.end(), output) ==
          options.outputs.end()) {
        options.outputs.push_back(output);
      }
    }
  }
  auto outputs = seat.session.try_run(inputs, options);
  if (!outputs) return failure_of(outputs.error());
  return std::move(*outputs);
}

Outcome<InferResult> ServedModel::run(Seat& seat, const InferRequest& request,
                                      const std::atomic<bool>* stop, Clock::time_point deadline,
                                      Clock::time_point memory_by) {
  if (auto failure = complain(request)) return *std::move(failure);
  std::vector<NamedValue> inputs;
  inputs.reserve(request.inputs.size() + settings_.states.size());
  for (const InputTensor& given : request.inputs) inputs.emplace_back(given.name, given.tensor);
  if (!request.sequence.empty()) {
    const std::lock_guard lock(sequences_mutex);
    const auto kept = sequences.find(request.sequence);
    for (const auto& [output, name] : settings_.states) {
      const auto same = [&input = name](const NamedValue& value) { return value.first == input; };
      if (kept == sequences.end() || std::any_of(inputs.begin(), inputs.end(), same)) continue;
      const auto state = kept->second.states.find(name);
      if (state != kept->second.states.end()) inputs.emplace_back(state->first, state->second);
    }
  }
  auto ran = run_named(seat, inputs, request, stop, deadline, memory_by);
  if (!ran) return ran.failure();
  const Outputs& outputs = *ran;
  if (!request.sequence.empty()) {
    const std::lock_guard lock(sequences_mutex);
    auto& states = sequences[request.sequence].states;
    for (const auto& [output, name] : settings_.states) states[name] = outputs.value(output);
  }
  // Each tensor keeps its own memory alive.
  InferResult result{name_, version_, request.id, {}, {}, nullptr};
  const size_t count = request.outputs.empty() ? outputs.size() : request.outputs.size();
  result.outputs.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto* tensor = std::get_if<Tensor>(&outputs.value(i));
    if (tensor == nullptr) {
      return Failure{Kind::bad_request,
                     "SDX-V0413: output \"" + outputs.name(i) +
                         "\" is not a tensor, and the protocol carries no others"};
    }
    result.outputs.push_back({outputs.name(i), *tensor});
    if (request.digest) result.digests.push_back(tensor->digest());
  }
  return result;
}

std::optional<uint64_t> ServedModel::expected_ns(const InferRequest& request) const {
  const uint64_t shapes = shapes_of(request);
  const Cost& cost = costs_[(shapes >> 8) % costs_.size()];
  if (cost.shapes.load(std::memory_order_relaxed) != shapes) return std::nullopt;
  return cost.ns.load(std::memory_order_relaxed);
}

void ServedModel::took(const InferRequest& request, uint64_t ns) {
  const uint64_t shapes = shapes_of(request);
  Cost& cost = costs_[(shapes >> 8) % costs_.size()];
  const bool known = cost.shapes.load(std::memory_order_relaxed) == shapes;
  const uint64_t before = cost.ns.load(std::memory_order_relaxed);
  // One slow run among fast ones is the machine's doing, a lasting change is the model's.
  cost.ns.store(known ? before - before / 8 + ns / 8 : ns, std::memory_order_relaxed);
  cost.shapes.store(shapes, std::memory_order_relaxed);
  usual_ns_.store(known ? before - before / 8 + ns / 8 : ns, std::memory_order_relaxed);
}

}  // namespace sardonyx::serve
