#include "run/session.h"

#include <algorithm>

#include "typed/eval.h"

namespace sdx::run {

using plan::Place;
using plan::Step;
using typed::Outlet;

Status Session::prepare(std::span<const Value> inputs) {
  const bool same = plan_ != nullptr && planned_for_.size() == inputs.size() &&
                    std::equal(inputs.begin(), inputs.end(), planned_for_.begin(),
                               [](const Value& v, const Dims& d) {
                                 return v.is_tensor() && v.tensor().dims() == d;
                               });
  // Equal shapes under another element type are still wrong: plan_for looks at types.
  if (same) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Fact& fact = compiled_->graph().fact(compiled_->graph().inputs()[i]);
      if (fact.type != DType::undefined && inputs[i].tensor().type() != fact.type)
        return compiled_->plan_for(inputs).error();
    }
    return ok();
  }
  SDX_ASSIGN(auto plan, compiled_->plan_for(inputs));
  planned_for_.clear();
  for (const Value& value : inputs)
    planned_for_.push_back(value.is_tensor() ? value.tensor().dims() : Dims{});
  if (plan == plan_) return ok();

  plan_ = std::move(plan);
  arena_ = allocate_aligned(plan_->arena_bytes);
  views_.clear();
  dims_.clear();
  prepared_.clear();
  patches_.clear();
  has_late_ = false;
  late_.assign(plan_->graph.size(), {});
  size_t wires = 0;
  for (const Step& step : plan_->steps) {
    const typed::Node& node = plan_->graph.node(step.node);
    wires += node.inputs.size() + node.outputs.size();
    if (step.fused) wires += plan_->graph.node(step.fused->node).inputs.size() + 1;
  }
  dims_.reserve(wires);  // views point into it
  const auto view_at = [&](Outlet outlet) {
    View view;
    if (!outlet.present() || !plan_->graph.fact(outlet).present()) return view;
    const Fact& fact = plan_->graph.fact(outlet);
    dims_.push_back(fact.dims());
    view.type = fact.type;
    view.dims = dims_.back();
    view.count = *element_count(dims_.back());
    const Place& place = plan_->places[outlet.node][outlet.slot];
    if (place.kind == Place::Kind::arena) {
      view.raw = static_cast<std::byte*>(arena_.get()) + place.offset;
    } else if (place.kind == Place::Kind::constant) {
      // A weight that its kernel packed has no bytes of its own any more.
      if (const auto& value = plan_->graph.node(place.index).outputs[0].value) {
        view.raw =
            const_cast<std::byte*>(static_cast<const std::byte*>(value->raw())) + place.offset;
      }
    } else {
      patches_.push_back({views_.size(), place, outlet});
    }
    return view;
  };
  for (const Step& step : plan_->steps) {
    const typed::Node& node = plan_->graph.node(step.node);
    const uint32_t result = plan_->result_of(step);
    const size_t outputs = plan_->graph.node(result).outputs.size();
    Prepared prepared{views_.size(), node.inputs.size(), 0, outputs, patches_.size(), 0};
    if (step.late) {
      has_late_ = true;
    } else {
      for (const Outlet input : node.inputs) views_.push_back(view_at(input));
      if (step.fused) {
        for (const Outlet input : plan_->graph.node(step.fused->node).inputs) {
          views_.push_back(input.node == step.node ? View{} : view_at(input));
          ++prepared.fused_inputs;
        }
      }
      for (uint32_t slot = 0; slot < outputs; ++slot) views_.push_back(view_at({result, slot}));
    }
    prepared.patches = patches_.size() - prepared.first_patch;
    prepared_.push_back(prepared);
  }
  return ok();
}

Value Session::value_at(Outlet outlet, std::span<const Value> inputs,
                        std::span<const Tensor> outputs) const {
  if (!outlet.present()) return {};
  const Place& place = plan_->places[outlet.node][outlet.slot];
  const Fact& fact = plan_->graph.fact(outlet);
  const auto part = [&](const Tensor& whole) {
    return fact.is_concrete() ? whole.part(place.offset, fact.type, fact.dims()) : whole;
  };
  switch (place.kind) {
    case Place::Kind::late:
      return late_[outlet.node][outlet.slot];
    case Place::Kind::constant:
      return part(*plan_->graph.node(place.index).outputs[0].value);
    case Place::Kind::input:
      return inputs[place.index].is_tensor() ? Value(part(inputs[place.index].tensor()))
                                             : inputs[place.index];
    // A late operator may keep what it is given (in a sequence, say) while the arena and the caller
    // move on.
    case Place::Kind::output:
      return part(outputs[place.index]).copy();
    case Place::Kind::arena:
      return Tensor::over(fact.type, fact.dims(), nullptr,
                          static_cast<const std::byte*>(arena_.get()) + place.offset)
          .copy();
    case Place::Kind::none:
      break;
  }
  return {};
}

Status Session::run_late(const Step& step, std::span<const Value> inputs,
                         std::span<const Tensor> outputs, Observer* observer) {
  const typed::Node& node = plan_->graph.node(step.node);
  std::vector<Value> arguments;
  for (const Outlet input : node.inputs) arguments.push_back(value_at(input, inputs, outputs));
  const typed::EvalOptions options{&compiled_->pool(), plan_->options.reference,
                                   plan_->options.isa};
  SDX_ASSIGN(late_[step.node], typed::eval(node.use, arguments, options));
  if (observer != nullptr) {
    std::vector<View> made;
    for (const Value& value : late_[step.node])
      made.push_back(value.is_tensor() ? view_of(value.tensor()) : View{});
    observer->after(step.node, node, made);
  }
  return ok();
}

Status Session::execute(std::span<const Value> inputs, std::span<Tensor> outputs,
                        Observer* observer) {
  for (size_t s = 0; s < plan_->steps.size(); ++s) {
    const Step& step = plan_->steps[s];
    const typed::Node& node = plan_->graph.node(step.node);
    const Prepared& at = prepared_[s];
    const auto here = [&](Error error) {
      error.what = fmt::format("{}: {}", node.op().name, error.what);
      return std::move(error).in(fmt::format("node \"{}\" ({})", node.use.name, node.op().name));
    };
    if (observer != nullptr) observer->before(node);
    if (step.late) {
      if (Status status = run_late(step, inputs, outputs, observer); !status)
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
    args.fused = step.fused ? &step.fused->program : nullptr;
    args.fused_inputs = {views_.data() + at.first_view + at.inputs, at.fused_inputs};
    args.outs = {views_.data() + at.first_view + at.inputs + at.fused_inputs, at.outputs};
    args.scratch = {static_cast<std::byte*>(arena_.get()) + step.scratch_offset,
                    step.scratch_bytes};
    args.pool = &compiled_->pool();
    args.isa = plan_->options.isa;
    args.packed = step.packed.get();
    Status status = step.kernel != nullptr ? step.kernel->run(node.resolved.get(), args)
                                           : node.op().reference(node.resolved.get(), args);
    if (!status) return here(std::move(status).error());
    if (observer != nullptr) observer->after(plan_->result_of(step), node, args.outs);
  }
  return ok();
}

Result<std::vector<Value>> Session::run(std::span<const Value> inputs, Observer* observer) {
  SDX_TRY(prepare(inputs));
  const typed::Graph& graph = plan_->graph;
  std::vector<Tensor> buffers(graph.outputs().size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Fact& fact = graph.fact(graph.outputs()[i].outlet);
    if (plan_->copied_outputs[i].kind == Place::Kind::none)
      buffers[i] = Tensor::make(fact.type, fact.dims());
  }
  SDX_TRY(execute(inputs, buffers, observer));
  std::vector<Value> results;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Place& from = plan_->copied_outputs[i];
    const Outlet outlet = graph.outputs()[i].outlet;
    if (from.kind == Place::Kind::none) {
      results.emplace_back(std::move(buffers[i]));
      continue;
    }
    Value value = value_at(outlet, inputs, buffers);
    // The caller owns results alone.
    if (value.is_tensor() &&
        (from.kind == Place::Kind::constant || from.kind == Place::Kind::input)) {
      value = value.tensor().copy();
    }
    results.push_back(std::move(value));
  }
  if (has_late_) {
    for (auto& values : late_) values.clear();
  }
  return results;
}

Status Session::run_into(std::span<const Value> inputs, std::span<Tensor> outputs) {
  SDX_TRY(prepare(inputs));
  const typed::Graph& graph = plan_->graph;
  if (outputs.size() != graph.outputs().size()) {
    return fail("SDX-R0012", "{} outputs given, the model has {}", outputs.size(),
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
  SDX_TRY(execute(inputs, outputs, nullptr));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Place& from = plan_->copied_outputs[i];
    if (from.kind == Place::Kind::none) continue;
    const void* raw = nullptr;
    switch (from.kind) {
      case Place::Kind::arena:
        raw = arena_.get();
        break;
      case Place::Kind::output:
        raw = outputs[from.index].raw();
        break;
      case Place::Kind::input:
        raw = inputs[from.index].tensor().raw();
        break;
      case Place::Kind::constant:
        raw = graph.node(from.index).outputs[0].value->raw();
        break;
      case Place::Kind::late: {
        const Outlet outlet = graph.outputs()[i].outlet;
        raw = late_[outlet.node][outlet.slot].tensor().raw();
        break;
      }
      case Place::Kind::none:
        break;
    }
    std::memcpy(outputs[i].raw(), static_cast<const std::byte*>(raw) + from.offset,
                outputs[i].bytes());
  }
  return ok();
}

}  // namespace sdx::run
