// What a session does when only the run tells sizes: late steps, evaluated one by one, and the
// subgraphs that they run.
#include <algorithm>
#include <array>

#include "base/stack.h"
#include "op/one_node.h"
#include "plan/lasting.h"
#include "plan/warranted.h"
#include "run/in_time.h"
#include "run/session.h"
#include "typed/eval.h"
#include "typed/folding.h"

namespace sdx::run {

using plan::Place;
using plan::Step;
using typed::Outlet;

// The wire's value. Not borrowed, it does not lie in the arena or in memory of the caller: an
// operator may keep it, in a sequence, say.
Value Session::value_at(Outlet outlet, std::span<const Value> inputs,
                        std::span<const Tensor> outputs, bool borrow) const {
  if (!outlet.present()) return {};
  const plan::Plan& plan = planned_->plan;
  const Place& place = plan.places[outlet.node][outlet.slot];
  const Fact& fact = plan.graph.fact(outlet);
  const auto part = [&](const Tensor& whole) {
    return fact.is_concrete() ? whole.part(place.offset, fact.type, fact.dims()) : whole;
  };
  switch (place.kind) {
    case Place::Kind::late:
      return late_[outlet.node][outlet.slot];
    case Place::Kind::constant:
      return part(*plan.graph.node(place.index).outputs[0].value);
    case Place::Kind::input: {
      if (!inputs[place.index].is_tensor()) return inputs[place.index];
      const Tensor shared = part(inputs[place.index].tensor());
      return borrow ? shared : shared.copy();
    }
    case Place::Kind::output: {
      const Tensor shared = part(outputs[place.index]);
      return borrow ? shared : shared.copy();
    }
    case Place::Kind::arena: {
      const Tensor shared =
          Tensor::over(fact.type, fact.dims(), nullptr,
                       static_cast<const std::byte*>(arena_.get()) + place.offset);
      return borrow ? shared : shared.copy();
    }
    case Place::Kind::none:
      break;
  }
  return {};
}

namespace {

// The memory that a value keeps. Items of a sequence may be shared; neighbours that are, count
// once.
size_t bytes_of(const Value& value) {
  constexpr size_t kOfAnyItem = 64;
  if (value.is_tensor()) return typed::bytes_held(value.tensor());
  if (!value.is_sequence()) return 0;
  size_t bytes = 0;
  const void* last = nullptr;
  for (const Value& item : value.sequence()) {
    bytes += sizeof(Value) + kOfAnyItem;
    if (!item.is_tensor() || item.tensor().raw() == last) continue;
    bytes += typed::bytes_held(item.tensor());
    last = item.tensor().raw();
  }
  return bytes;
}

}  // namespace

Result<std::vector<Value>> Session::run_body(const Body& body, std::span<const Value> inputs) {
  const auto* lasting = dynamic_cast<const plan::LastingBody*>(&body);
  const auto* typed_body =
      lasting != nullptr ? &lasting->shared() : dynamic_cast<const typed::GraphBody*>(&body);
  if (typed_body == nullptr)
    return body.run(inputs, compiled_->pool(), compiled_->settings().plan.isa);
  auto& bodies = lasting != nullptr ? lasting_bodies_ : bodies_;
  const auto& plans = lasting != nullptr ? compiled_->lasting_bodies() : planned_->bodies;
  std::unique_ptr<Session>& session = bodies[typed_body];
  if (session == nullptr) {
    SDX_ASSIGN(auto compiled, plans.get(*typed_body, *compiled_));
    session.reset(new Session(std::move(compiled), account_));
    account_->inner.insert(session.get());
  }
  RunOptions options = *running_;
  options.wanted = nullptr;
  if (options.observer != nullptr)
    options.observer = options.observer->inside(*running_node_, typed_body->graph());
  // What goes round a Loop is nobody else's while the body runs.
  const size_t before = account_->values;
  const size_t captured = running_node_->inputs.size() - running_node_->use.formal_inputs;
  for (size_t i = 0; i + captured < inputs.size(); ++i) account_->values += bytes_of(inputs[i]);
  if (Status fits = make_room(0); !fits) {
    account_->values = before;
    return std::move(fits).error();
  }
  // Subgraphs nest: a thread with a small stack hands the next one to a thread with a large one.
  constexpr size_t kOfOneLevel = size_t{192} << 10;
  const plan::Around* outer = plan::Around::current();
  auto results = on_deep_stack(
      [&] {
        const plan::Around around(planned_->plan.graph, outer);
        return session->run(inputs, options);
      },
      stack::has(kOfOneLevel));
  account_->values = before;
  return results;
}

Status Session::hold(size_t bytes) {
  SDX_TRY(make_room(bytes));
  account_->values += bytes;
  return ok();
}

namespace {

// Values of such a wire were not judged when its reader was planned.
bool has_open_type(const Fact& fact) {
  if (fact.is_tensor()) return fact.type == DType::undefined;
  return fact.element != nullptr && has_open_type(*fact.element);
}

}  // namespace

// What the node gives, if it fits in the memory that is left. Few bytes are there for every model;
// how many more this one warrants is counted when they are asked for.
Result<std::vector<Value>> Session::eval_within(const typed::Node& node,
                                                std::span<const Value> arguments,
                                                typed::EvalOptions& eval) {
  const size_t most = compiled_->settings().most_arena_bytes, values = account_->values;
  const auto left = [&](size_t limit) { return limit - std::min(limit, account_->held()); };
  const size_t few = left(std::min(most, plan::kFewBytes));
  eval.most_bytes = few;
  auto made = typed::eval(node.use, arguments, eval);
  account_->values = values;
  if (made || made.error().code != typed::kTooManyBytes || eval.resolved != nullptr) return made;
  release_idle();
  eval.most_bytes = left(plan::memory_limit(planned_->plan.graph, most));
  if (eval.most_bytes > few) made = typed::eval(node.use, arguments, eval);
  if (made || made.error().code != typed::kTooManyBytes) return made;
  return plan::explained(std::move(made).error(), most);
}

// The values that a late step reads, until its `open` ones are let go again.
Session::Arguments& Session::arguments(const Step& step, std::span<const Value> inputs,
                                       std::span<const Tensor> outputs) {
  const plan::Plan& plan = planned_->plan;
  const typed::Node& node = plan.graph.node(step.node);
  const bool borrow = step.has_bodies || !node.op().whole_values;
  const auto s = size_t(&step - plan.steps.data());
  auto at = arguments_.find(s);
  if (at == arguments_.end()) {
    Arguments first;
    first.values.resize(node.inputs.size());
    for (uint32_t i = 0; i < node.inputs.size(); ++i) {
      const Outlet input = node.inputs[i];
      if (!input.present()) continue;
      const Place& place = plan.places[input.node][input.slot];
      if (place.kind == Place::Kind::constant) {
        first.values[i] = value_at(input, inputs, outputs, borrow);
        first.made_by.insert(first.made_by.end(), {input.node, place.index});
      } else {
        first.open.push_back(i);
      }
    }
    std::sort(first.made_by.begin(), first.made_by.end());
    at = arguments_.emplace(s, std::move(first)).first;
  }
  for (const uint32_t i : at->second.open)
    at->second.values[i] = value_at(node.inputs[i], inputs, outputs, borrow);
  return at->second;
}

Status Session::run_late(const Step& step, std::span<const Value> inputs,
                         std::span<const Tensor> outputs, const RunOptions& options) {
  const plan::Plan& plan = planned_->plan;
  const typed::Node& node = plan.graph.node(step.node);
  Arguments& read = arguments(step, inputs, outputs);
  // What lies in memory of the arena or of the caller goes, however the step ends.
  struct LetGo {
    Arguments& read;
    ~LetGo() {
      for (const uint32_t i : read.open) read.values[i] = Value();
    }
  } const let_go{read};
  typed::EvalOptions eval;
  eval.pool = &compiled_->pool();
  eval.reference = plan.options.reference;
  eval.isa = plan.options.isa;
  eval.bodies = this;
  eval.check_types = std::any_of(read.open.begin(), read.open.end(), [&](uint32_t i) {
    return has_open_type(plan.graph.fact(node.inputs[i]));
  });
  std::array<bool, 16> constant{};
  if (step.has_bodies) {
    eval.resolved = node.resolved.get();
  } else if (node.inputs.size() <= constant.size()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      constant[i] = node.inputs[i].present() &&
                    plan.places[node.inputs[i].node][0].kind == Place::Kind::constant;
    }
    eval.constant = constant;
    eval.packer = &planned_->late_packs;
  }
  running_ = &options;
  running_node_ = &node;
  SDX_TRY(in_time(options, [&]() -> Status {
    SDX_ASSIGN(late_[step.node], eval_within(node, read.values, eval));
    return ok();
  }));
  for (const Value& value : late_[step.node]) account_->values += bytes_of(value);
  // What is known of an output may follow from a model's claim, and readers may be planned by it.
  for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
    const Fact& fact = node.outputs[slot];
    const Value& value = late_[step.node][slot];
    const bool planned_by = fact.is_concrete() || !fact.is_tensor();
    if (fact.present() && !admits(planned_by ? fact : Fact::tensor(fact.type), value)) {
      return fail("SDX-R0014", "output {} is {}, the model says {}", slot, fact_of(value).text(),
                  fact.text());
    }
  }
  if (options.observer != nullptr) {
    options.observer->after(step.node, node, views_of(late_[step.node]));
  }
  return ok();
}

}  // namespace sdx::run
