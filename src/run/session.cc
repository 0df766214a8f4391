#include "run/session.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "bytes/shortened.h"
#include "op/one_node.h"
#include "plan/grow/course.h"
#include "plan/warranted.h"
#include "run/guard.h"
#include "run/in_time.h"
#include "typed/folding.h"

namespace sdx::run {

using plan::Place;
using plan::Step;
using typed::Outlet;

Status RunOptions::check() const {
  if (stop != nullptr && stop->load(std::memory_order_relaxed))
    return fail("SDX-R0030", "the run was stopped by its caller");
  if (deadline != Clock::time_point::max() && Clock::now() >= deadline) return time_is_up();
  return ok();
}

bool Session::prepared_for(std::span<const Value> inputs) const {
  if (planned_ == nullptr) return false;
  if (planned_sizes_) return compiled_->binder().are(*planned_sizes_, inputs);
  if (planned_for_.size() != inputs.size()) return false;
  const typed::Graph& graph = planned_->plan.graph;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || inputs[i].tensor().dims() != planned_for_[i]) return false;
    // Equal shapes under another element type are still wrong.
    if (graph.fact(graph.inputs()[i]).type != inputs[i].tensor().type()) return false;
  }
  return true;
}

Status Session::prepare(std::span<const Value> inputs) {
  if (prepared_for(inputs)) return ok();
  auto sizes = compiled_->binder().sizes(inputs);
  SDX_ASSIGN(auto planned, sizes ? compiled_->planned_for(*sizes) : compiled_->planned_for(inputs));
  // Should memory run out while it is laid out, the session has no plan.
  struct Unless {
    std::shared_ptr<const plan::Planned>* planned;
    ~Unless() {
      if (planned != nullptr) planned->reset();
    }
  } unless{&planned_};
  planned_sizes_ = std::move(sizes);
  if (!planned_sizes_) {
    planned_for_.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      planned_for_[i] = inputs[i].is_tensor() ? inputs[i].tensor().dims() : Dims();
  }
  const auto before = std::exchange(planned_, std::move(planned));
  if (before != planned_) {
    bodies_.clear();  // they belong to the plan
    if (before == nullptr || !resize(before->plan)) SDX_TRY(lay_out());
  }
  unless.planned = nullptr;
  return ok();
}

namespace {

// A weight that its kernel packed has no bytes of its own any more.
std::byte* bytes_at(const Place& constant, const typed::Graph& graph) {
  const auto& value = graph.node(constant.index).outputs[0].value;
  if (value == nullptr) return nullptr;
  return const_cast<std::byte*>(static_cast<const std::byte*>(value->raw())) + constant.offset;
}

}  // namespace

// visit(view, wire) for all that a step reads and writes.
template <class Visit>
void Session::each_wire(size_t s, Visit&& visit) {
  const plan::Plan& plan = planned_->plan;
  const Step& step = plan.steps[s];
  if (step.late) return;
  size_t view = prepared_[s].first_view;
  for (const Outlet input : plan.graph.node(step.node).inputs) visit(view++, input);
  if (step.epilogue) {  // the product goes from one to the other without a wire
    for (const Outlet input : plan.graph.node(step.epilogue->node).inputs)
      visit(view++, input.node == step.node ? Outlet() : input);
  }
  const uint32_t result = plan.result_of(step);
  for (uint32_t slot = 0; slot < prepared_[s].outputs; ++slot) visit(view++, {result, slot});
}

// The memory of a view, where it is the same in all runs.
void Session::place(size_t view, Outlet outlet) {
  const plan::Plan& plan = planned_->plan;
  if (!outlet.present() || !plan.graph.fact(outlet).present()) return;
  measure(view, outlet);
  const Place& place = plan.places[outlet.node][outlet.slot];
  if (place.kind == Place::Kind::arena) {
    views_[view].raw = static_cast<std::byte*>(arena_.get()) + place.offset;
  } else if (place.kind == Place::Kind::constant) {
    views_[view].raw = bytes_at(place, plan.graph);
    constants_.push_back({view, place, outlet});
  } else {
    patches_.push_back({view, place, outlet});
  }
}

// The type and size of a view.
void Session::measure(size_t view, Outlet outlet) {
  const plan::Plan& plan = planned_->plan;
  if (!outlet.present() || !plan.graph.fact(outlet).present()) return;
  const Fact& fact = plan.graph.fact(outlet);
  Dims& dims = dims_[view];
  dims.clear();
  for (const Dim& dim : *fact.shape) dims.push_back(dim.value());
  views_[view].type = fact.type;
  views_[view].dims = dims;
  views_[view].count = *element_count(dims);
}

Session::~Session() {
  if (account_ == nullptr) return;  // moved from
  account_->arenas -= arena_size_;
  account_->inner.erase(this);
}

// Subgraphs that are not at work do without their memory until they are again.
void Session::release_idle() {
  for (Session* session : account_->inner) {
    if (session->at_work_ || session->arena_size_ == 0) continue;
    account_->arenas -= session->arena_size_;
    session->arena_.reset();
    session->arena_size_ = 0;
    session->planned_.reset();
  }
}

// Whether the run, with all that is around it, may take this much more.
Status Session::make_room(size_t bytes) {
  const size_t most = compiled_->settings().most_arena_bytes;
  const auto fits = [&](size_t limit) {
    return bytes <= limit && account_->held() <= limit - bytes;
  };
  if (fits(std::min(most, plan::kFewBytes))) return ok();
  const size_t limit = plan::memory_limit(planned_->plan.graph, most);
  if (fits(limit)) return ok();
  release_idle();
  if (fits(limit)) return ok();
  return plan::explained(
      fail(typed::kTooManyBytes, "{} bytes are held and {} more wanted, the limit is {}",
           account_->held(), bytes, limit),
      most);
}

// Memory for the plan, and the views of all its steps.
Status Session::lay_out() {
  const plan::Plan& plan = planned_->plan;
  if (plan.arena_bytes + slack_ > arena_size_) {
    arena_.reset();
    account_->arenas -= std::exchange(arena_size_, 0);
    SDX_TRY(make_room(plan.arena_bytes + slack_));
    arena_ = memory_of_runs(plan.arena_bytes + slack_);
    arena_size_ = plan.arena_bytes + slack_;
    account_->arenas += arena_size_;
  }
  views_.clear();
  dims_.clear();
  prepared_.clear();
  patches_.clear();
  constants_.clear();
  course_.reset();
  sized_.clear();
  selected_.clear();
  skipped_.clear();
  unused_.clear();
  has_late_ = false;
  late_.assign(plan.graph.size(), {});
  arguments_.clear();
  size_t wires = 0;
  for (const Step& step : plan.steps) {
    const size_t outputs = plan.graph.node(plan.result_of(step)).outputs.size();
    const size_t inputs = plan.graph.node(step.node).inputs.size();
    const size_t more = step.epilogue ? plan.graph.node(step.epilogue->node).inputs.size() : 0;
    prepared_.push_back({wires, inputs, step.late ? 0 : more, outputs, 0, 0});
    if (!step.late) wires += inputs + more + outputs;
    has_late_ |= step.late;
  }
  views_.resize(wires);
  dims_.resize(wires);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    prepared_[s].first_patch = patches_.size();
    each_wire(s, [&](size_t view, Outlet outlet) { place(view, outlet); });
    prepared_[s].patches = patches_.size() - prepared_[s].first_patch;
  }
  return ok();
}

// The same for a plan that differs from the one before in sizes alone. False: it does in more.
bool Session::resize(const plan::Plan& before) {
  const plan::Plan& plan = planned_->plan;
  if (plan.layout == nullptr || plan.layout != before.layout) return false;
  if (plan.arena_bytes + slack_ > arena_size_) return false;
  if (plan.course != nullptr && plan.course == before.course) {
    size_again();
    return true;
  }
  const auto other = [&](uint32_t id) { return &plan.graph.node(id) != &before.graph.node(id); };
  std::vector<uint32_t> steps;
  std::set_union(before.resized.begin(), before.resized.end(), plan.resized.begin(),
                 plan.resized.end(), std::back_inserter(steps));
  for (const uint32_t s : steps) {
    each_wire(s, [&](size_t view, Outlet outlet) {
      if (outlet.present() && other(outlet.node)) measure(view, outlet);
    });
  }
  const auto renews_constants = [](const plan::Plan& one) {
    return std::any_of(one.renewed.begin(), one.renewed.end(), [&](uint32_t id) {
      return one.graph.node(id).kind == typed::Node::Kind::constant;
    });
  };
  const bool constants_differ = renews_constants(before) || renews_constants(plan);
  for (size_t i = 0; constants_differ && i < constants_.size(); ++i) {
    const Patch& patch = constants_[i];
    if (other(patch.place.index)) views_[patch.view].raw = bytes_at(patch.place, plan.graph);
  }
  std::erase_if(arguments_, [&](const auto& of_step) {
    return std::any_of(of_step.second.made_by.begin(), of_step.second.made_by.end(), other);
  });
  return true;
}

// The views that other sizes change while plans stay on their course.
void Session::list_sized() {
  const plan::Plan& plan = planned_->plan;
  course_ = plan.course;
  sized_.clear();
  for (const uint32_t s : plan.resized) {
    each_wire(s, [&](size_t view, Outlet outlet) {
      if (outlet.present() && plan.graph.fact(outlet).present() && course_->changes(outlet.node))
        sized_.push_back({view, course_->sizes_of(outlet)});
    });
  }
}

// For a plan that is on the course of the one before.
void Session::size_again() {
  const plan::Plan& plan = planned_->plan;
  if (course_ != plan.course) list_sized();
  for (const Sized& one : sized_) {
    Dims& dims = dims_[one.view];
    size_t count = 1;
    for (size_t axis = 0; axis < one.sizes.size(); ++axis) {
      dims[axis] = plan.sizes[one.sizes[axis]];
      count *= size_t(dims[axis]);
    }
    views_[one.view].count = count;
  }
  std::erase_if(arguments_, [&](const auto& of_step) {
    const std::vector<uint32_t>& made_by = of_step.second.made_by;
    return std::any_of(plan.renewed.begin(), plan.renewed.end(), [&](uint32_t id) {
      return std::binary_search(made_by.begin(), made_by.end(), id);
    });
  });
}

// Finds the steps that the wanted outputs need, and the buffers that these steps write.
void Session::select(const std::vector<bool>* wanted) {
  if (wanted == nullptr) {
    selected_.clear();
    skipped_.clear();
    unused_.clear();
    return;
  }
  if (selected_ == *wanted) return;
  const plan::Plan& plan = planned_->plan;
  selected_.clear();
  std::vector<bool> needed(plan.graph.size(), false);
  for (size_t i = 0; i < plan.graph.outputs().size(); ++i) {
    if (i < wanted->size() && (*wanted)[i]) needed[plan.graph.outputs()[i].outlet.node] = true;
  }
  for (size_t id = plan.graph.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const Outlet input : plan.graph.node(uint32_t(id)).inputs) {
      if (input.present()) needed[input.node] = true;
    }
  }
  skipped_.clear();
  for (const Step& step : plan.steps) skipped_.push_back(!needed[plan.result_of(step)]);
  unused_.assign(plan.graph.outputs().size(), true);
  for (size_t id = 0; id < plan.graph.size(); ++id) {
    for (const Place& place : plan.places[id]) {
      if (needed[id] && place.kind == Place::Kind::output) unused_[place.index] = false;
    }
  }
  selected_ = *wanted;
}

// Memory behind the arena, where nobody may write.
Status Session::keep_slack() {
  if (slack_ != 0) return ok();
  slack_ = kGuardSlack;
  return planned_ != nullptr ? lay_out() : ok();
}

// What steps share: the arena, and the caller's inputs and outputs.
std::vector<Guard::Region> Session::guarded(std::span<const Value> inputs,
                                            std::span<Tensor> outputs) {
  std::vector<Guard::Region> regions;
  regions.push_back({"the arena", static_cast<std::byte*>(arena_.get()), arena_size_, true});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || inputs[i].tensor().type() == DType::string) continue;
    auto* raw = const_cast<void*>(inputs[i].tensor().raw());
    regions.push_back({fmt::format("input {}", i), static_cast<std::byte*>(raw),
                       inputs[i].tensor().bytes(), false});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].count() == 0 || outputs[i].type() == DType::string) continue;
    regions.push_back({fmt::format("output {}", i), static_cast<std::byte*>(outputs[i].raw()),
                       outputs[i].bytes(), true});
  }
  return regions;
}

Status Session::execute(std::span<const Value> inputs, std::span<Tensor> outputs,
                        const RunOptions& options) {
  const plan::Plan& plan = planned_->plan;
  const bool limited = options.limited();
  if (limited) SDX_TRY(options.check());  // a subgraph may have no steps
  if (options.observer != nullptr) options.observer->start(plan);
  std::optional<Guard> guard;
  if (options.guard) guard.emplace(guarded(inputs, outputs));
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (!skipped_.empty() && skipped_[s]) continue;
    const Step& step = plan.steps[s];
    const typed::Node& node = plan.graph.node(step.node);
    const Prepared& at = prepared_[s];
    const auto here = [&](Error error) {
      error.what = fmt::format("{}: {}", node.op().name, error.what);
      return std::move(error).in(fmt::format("node \"{}\" ({})", node.use.name, node.op().name));
    };
    Deadline::poll();  // of whoever holds one for this thread
    if (limited) {
      if (Status status = options.check(); !status) return here(std::move(status).error());
    }
    if (options.observer != nullptr) options.observer->before(step.node, node);
    if (step.late) {
      const auto late = [&] { return run_late(step, inputs, outputs, options); };
      if (Status status = guard ? guard->run_apart(late) : late(); !status)
        return here(std::move(status).error());
      continue;
    }
    for (size_t p = at.first_patch; p < at.first_patch + at.patches; ++p) {
      const Patch& patch = patches_[p];
      const void* raw = nullptr;
      if (patch.place.kind == Place::Kind::input) {
        raw = inputs[patch.place.index].tensor().raw();
      } else if (patch.place.kind == Place::Kind::output) {
        raw = outputs[patch.place.index].raw();
      } else if (patch.place.kind == Place::Kind::late) {
        raw = late_[patch.outlet.node][patch.outlet.slot].tensor().raw();
      }
      views_[patch.view].raw =
          const_cast<std::byte*>(static_cast<const std::byte*>(raw)) + patch.place.offset;
    }
    Args args;
    args.ins = {views_.data() + at.first_view, at.inputs};
    args.epilogue = step.epilogue ? &step.epilogue->program : nullptr;
    args.epilogue_inputs = {views_.data() + at.first_view + at.inputs, at.epilogue_inputs};
    args.outs = {views_.data() + at.first_view + at.inputs + at.epilogue_inputs, at.outputs};
    args.scratch = {static_cast<std::byte*>(arena_.get()) + step.scratch_offset,
                    step.scratch_bytes};
    args.pool = &compiled_->pool();
    args.isa = plan.options.isa;
    args.packed = step.packed.get();
    const auto kernel = [&] {
      return call_body(node.op(), step.kernel, node.resolved.get(), args);
    };
    const auto run_step = [&] {
      return guard ? guard->run(args, node.op().deterministic, kernel) : kernel();
    };
    if (Status status = limited ? in_time(options, run_step) : run_step(); !status)
      return here(std::move(status).error());
    if (options.observer != nullptr)
      options.observer->after(plan.result_of(step), plan.graph.node(step.node), args.outs);
  }
  return ok();
}

namespace {

// A session that is at work keeps its memory.
struct Working {
  explicit Working(bool& flag) : at(flag), before(std::exchange(flag, true)) {}
  ~Working() { at = before; }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  bool& at;
  const bool before;
};

// Late values live as long as the run, however it ends.
struct Clear {
  std::vector<std::vector<Value>>* values;
  size_t& bytes;
  const size_t before;
  ~Clear() {
    bytes = before;
    if (values == nullptr) return;
    for (auto& of_node : *values) of_node.clear();
  }
};

// Kernels write every element; only the unused bits of a packed type's last byte need zeros.
Tensor output_buffer(const Fact& fact, OutputMemory& memory) {
  Dims dims = fact.dims();
  if (fact.type == DType::string || is_packed(fact.type)) return Tensor::make(fact.type, dims);
  auto taken = memory.take(bytes_for(fact.type, *element_count(dims)));
  const void* raw = taken.get();
  return Tensor::over(fact.type, std::move(dims), std::move(taken), raw);
}

// The caller owns results alone.
Tensor own_copy(const Tensor& shared, OutputMemory& memory) {
  if (shared.type() == DType::string || is_packed(shared.type())) return shared.copy();
  auto taken = memory.take(shared.bytes());
  void* raw = taken.get();
  if (shared.bytes() != 0) std::memcpy(raw, shared.raw(), shared.bytes());
  return Tensor::over(shared.type(), shared.dims(), std::move(taken), raw);
}

}  // namespace

Result<std::vector<Value>> Session::run(std::span<const Value> inputs, const RunOptions& options) {
  const Working working(at_work_);
  if (options.guard) SDX_TRY(keep_slack());
  SDX_TRY(in_time(options, [&] { return prepare(inputs); }));
  select(options.wanted);
  const plan::Plan& plan = planned_->plan;
  const auto& outputs = plan.graph.outputs();
  std::vector<Tensor> buffers(outputs.size());
  output_memory_.start();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool used = unused_.empty() || !unused_[i];
    if (used && plan.copied_outputs[i].kind == Place::Kind::none)
      buffers[i] = output_buffer(plan.graph.fact(outputs[i].outlet), output_memory_);
  }
  const Clear clear{has_late_ ? &late_ : nullptr, account_->values, account_->values};
  SDX_TRY(execute(inputs, buffers, options));
  SDX_TRY(no_file_lost());
  std::vector<Value> results(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!selected_.empty() && !selected_[i]) continue;
    const Place& from = plan.copied_outputs[i];
    if (from.kind == Place::Kind::none) continue;
    results[i] = value_at(outputs[i].outlet, inputs, buffers, true);
    if (results[i].is_tensor() && from.kind != Place::Kind::late)
      results[i] = own_copy(results[i].tensor(), output_memory_);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!selected_.empty() && !selected_[i]) continue;
    if (plan.copied_outputs[i].kind == Place::Kind::none) results[i] = std::move(buffers[i]);
  }
  return results;
}

const void* Session::place_of_output(size_t i, std::span<const Value> inputs,
                                     std::span<const Tensor> outputs) const {
  const plan::Plan& plan = planned_->plan;
  const Place& from = plan.copied_outputs[i];
  switch (from.kind) {
    case Place::Kind::arena:
      return arena_.get();
    case Place::Kind::output:
      return outputs[from.index].raw();
    case Place::Kind::input:
      return inputs[from.index].tensor().raw();
    case Place::Kind::constant:
      return plan.graph.node(from.index).outputs[0].value->raw();
    case Place::Kind::late: {
      const Outlet outlet = plan.graph.outputs()[i].outlet;
      return late_[outlet.node][outlet.slot].tensor().raw();
    }
    case Place::Kind::none:
      break;
  }
  return nullptr;
}

Status Session::run_into(std::span<const Value> inputs, std::span<Tensor> outputs,
                         const RunOptions& options) {
  const Working working(at_work_);
  if (options.guard) SDX_TRY(keep_slack());
  SDX_TRY(in_time(options, [&] { return prepare(inputs); }));
  select(nullptr);
  const plan::Plan& plan = planned_->plan;
  const typed::Graph& graph = plan.graph;
  if (outputs.size() != graph.outputs().size()) {
    return fail("SDX-R0015", "{} outputs given, the model has {}", outputs.size(),
                graph.outputs().size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Fact& fact = graph.fact(graph.outputs()[i].outlet);
    const bool fits =
        fact.is_concrete() && outputs[i].type() == fact.type && outputs[i].rank() == fact.rank() &&
        std::equal(outputs[i].dims().begin(), outputs[i].dims().end(), fact.shape->begin(),
                   [](int64_t size, const Dim& dim) { return dim.value() == size; });
    if (!fits) {
      return fail("SDX-R0013", "output {} (\"{}\") is {}, the buffer given is {}{}", i,
                  graph.outputs()[i].name, fact.text(), short_name(outputs[i].type()),
                  to_string(outputs[i].dims()));
    }
  }
  const Clear clear{has_late_ ? &late_ : nullptr, account_->values, account_->values};
  SDX_TRY(execute(inputs, outputs, options));
  SDX_TRY(no_file_lost());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (plan.copied_outputs[i].kind == Place::Kind::none) continue;
    const auto* from = static_cast<const std::byte*>(place_of_output(i, inputs, outputs));
    if (outputs[i].type() == DType::string) {
      std::copy_n(reinterpret_cast<const std::string*>(from), outputs[i].count(),
                  outputs[i].data<std::string>());
      continue;
    }
    std::memcpy(outputs[i].raw(), from + plan.copied_outputs[i].offset, outputs[i].bytes());
  }
  return ok();
}

}  // namespace sdx::run
