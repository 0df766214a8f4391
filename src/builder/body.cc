#include "builder/body.h"

#include <algorithm>

#include "op/conform.h"
#include "ops/list.h"
#include "typed/eval.h"

namespace sardonyx::detail {
namespace {

using sdx::Facts;
using sdx::typed::Outlet;

class TypedBody final : public sdx::Body {
 public:
  explicit TypedBody(sdx::typed::Graph graph) : graph_(std::move(graph)) {
    for (const Outlet input : graph_.inputs()) inputs_.push_back(graph_.fact(input));
    for (const auto& output : graph_.outputs()) outputs_.push_back(graph_.fact(output.outlet));
  }
  const Facts& inputs() const override { return inputs_; }
  const Facts& outputs() const override { return outputs_; }
  sdx::Result<std::vector<sdx::Value>> run(std::span<const sdx::Value> inputs, sdx::Pool& pool,
                                           sdx::Isa isa) const override {
    return sdx::typed::eval(graph_, inputs, {.pool = &pool, .reference = false, .isa = isa});
  }

 private:
  sdx::typed::Graph graph_;
  Facts inputs_, outputs_;
};

sdx::Fact without_value(sdx::Fact fact) {
  fact.value.reset();
  fact.symbolic.reset();
  return fact;
}

// What Loop and Scan first tell their bodies of the inputs: they ask how many outputs there are
// before they tell it themselves.
Facts first_facts(const sdx::Node& use, const Facts& in) {
  Facts formal;
  if (use.op == &sdx::ops::loop) {
    formal = {sdx::Fact::tensor(sdx::DType::i64, sdx::Shape{}),
              sdx::Fact::tensor(sdx::DType::boolean, sdx::Shape{})};
    for (size_t i = 2; i < use.formal_inputs; ++i) formal.push_back(without_value(in[i]));
    return formal;
  }
  const auto scans = size_t(use.i("num_scan_inputs"));
  const size_t states = use.formal_inputs - std::min(scans, use.formal_inputs);
  const auto axes = use.ints_or_empty("scan_input_axes");
  for (size_t i = 0; i < use.formal_inputs; ++i) {
    sdx::Fact fact = without_value(in[i]);
    if (i >= states && fact.shape) {
      const int64_t given = i - states < axes.size() ? axes[i - states] : 0;
      const auto axis = sdx::resolve_axis(given, fact.rank());
      if (axis) fact.shape->erase(fact.shape->begin() + std::ptrdiff_t(*axis));
    }
    formal.push_back(std::move(fact));
  }
  return formal;
}

}  // namespace

// Calling type() calls the user's function; the last call is what the graph holds.
class TracedBody final : public sdx::BodySource {
 public:
  TracedBody(State& state, std::string name, const Body& function, std::vector<uint32_t>& captured)
      : state_(state), function_(function), outer_(*state.current), captured_(captured) {
    record->name = std::move(name);
  }
  size_t inputs() const override { return formal; }
  size_t outputs() const override { return record->outputs.size(); }

  sdx::Result<std::shared_ptr<const sdx::Body>> type(const Facts& given,
                                                     const Facts&) const override {
    // Names that the user gave in the call before are free again.
    for (const std::string& name : claimed_) state_.names.erase(name);
    const size_t claims = state_.claims.size();
    Scope scope;
    scope.kind = Scope::Kind::body;
    scope.id = state_.scopes++;
    scope.outer = &outer_;
    scope.graph = &scope.own;
    scope.captured = &captured_;
    scope.own.name = record->name;
    const Entered entered(state_, scope);
    Wires wires;
    record->inputs.clear();
    for (const sdx::Fact& fact : given) {
      const std::string name = state_.fresh("in");
      record->inputs.push_back(state_.add_wire(name, scope.own.source(name, fact)));
      wires.push_back(Access::wire(state_.shared_from_this(), record->inputs.back()));
    }
    for (const uint32_t id : captured_) {
      const Outlet outer = outer_.outlets.at(id);
      scope.outlets[id] = scope.own.source(state_.wires[id].name, outer_.graph->fact(outer));
    }
    record->outputs = results_of(state_, function_(wires), {});
    record->constants = scope.constants;
    record->nodes = scope.nodes;
    for (const uint32_t id : record->outputs) {
      scope.own.output(state_.wires[id].name, scope.outlets.at(id));
    }
    claimed_.assign(state_.claims.begin() + std::ptrdiff_t(claims), state_.claims.end());
    return std::shared_ptr<const sdx::Body>(std::make_shared<TypedBody>(std::move(scope.own)));
  }

  size_t formal = 0;
  std::shared_ptr<BodyRecord> record = std::make_shared<BodyRecord>();

 private:
  State& state_;
  const Body& function_;
  Scope& outer_;
  std::vector<uint32_t>& captured_;
  mutable std::vector<std::string> claimed_;
};

Bodies::Bodies(State& state, const std::map<std::string, Body>& functions,
               std::vector<uint32_t>& captured)
    : state_(state), captured_(captured) {
  for (const auto& [name, function] : functions) {
    bodies_[name] = std::make_shared<TracedBody>(state, state.fresh(name), function, captured);
  }
}

void Bodies::trace(sdx::Node& use, std::vector<Outlet> inputs, Place place) {
  const sdx::Signature& signature = use.op->signatures().back();
  const bool counted = use.op == &sdx::ops::loop || use.op == &sdx::ops::scan;
  for (const auto& [name, body] : bodies_) {
    body->formal = use.op == &sdx::ops::if_ ? 0
                   : use.op->domain.empty() ? use.formal_inputs
                                            : 1;  // FlexAttention's scores
    if (use.op == &sdx::ops::loop) body->formal = std::max<size_t>(body->formal, 2);
    use.attrs.emplace(name, body);
  }
  const auto facts = [&] {
    Facts in;
    for (const Outlet outlet : inputs) in.push_back(state_.current->graph->fact(outlet));
    for (size_t i = in.size() - use.formal_inputs; i < captured_.size(); ++i) {
      inputs.push_back(state_.resolve(captured_[i], place));
      in.push_back(state_.current->graph->fact(inputs.back()));
    }
    return in;
  };
  sdx::Node read = use;
  auto attrs = sdx::complete(signature, use.attrs);
  if (!attrs || !sdx::conforms(signature, facts(), use.formal_inputs, signature.min_outputs)) {
    return;  // making the node says what is wrong
  }
  read.attrs = *std::move(attrs);
  if (counted) (void)bodies_.at("body")->type(first_facts(read, facts()), {});
  // Each round may show more outer wires that the bodies use.
  for (size_t before = captured_.size() + 1; before != captured_.size();) {
    const Facts in = facts();
    before = captured_.size();
    if (!use.op->read(read, in)) break;
  }
  for (const auto& [name, body] : bodies_) {
    if (body->record->outputs.empty()) (void)body->type({}, {});
  }
}

size_t Bodies::outputs(const sdx::Op& op) const {
  const size_t outputs = bodies_.begin()->second->record->outputs.size();
  return &op == &sdx::ops::loop ? outputs - std::min<size_t>(outputs, 1) : outputs;
}

std::map<std::string, std::shared_ptr<BodyRecord>> Bodies::records() const {
  std::map<std::string, std::shared_ptr<BodyRecord>> records;
  for (const auto& [name, body] : bodies_) records[name] = body->record;
  return records;
}

std::vector<uint32_t> results_of(State& state, const Wires& wires, Place place) {
  std::vector<uint32_t> ids;
  for (const Wire& wire : wires) {
    if (!wire.present()) {
      refuse(sdx::fail("SDX-W0006", "result {} of a subgraph or function is no wire", ids.size()),
             place);
    }
    uint32_t id = state.use(wire, place);
    const WireRecord& record = state.wires[id];
    const bool own = record.scope == state.current->id && record.node != kNone;
    if (!own || std::find(ids.begin(), ids.end(), id) != ids.end()) {
      NodeRecord identity;
      identity.op = &sdx::ops::identity;
      identity.type = "Identity";
      identity.inputs = {id};
      id = state.add(std::move(identity), {}, 1, place)[0];
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace sardonyx::detail
