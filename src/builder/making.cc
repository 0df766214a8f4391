#include "builder/making.h"

#include <algorithm>

#include "api/bridge.h"
#include "api/floating.h"
#include "builder/state.h"
#include "typed/eval.h"

namespace sardonyx {
namespace detail {
namespace {

// One operator on values; throws.
std::vector<Value> evaluate(sdx::Node use, const std::vector<Value>& inputs, Place place) {
  const sdx::DefaultFloating floating;
  std::vector<sdx::Value> values;
  // A graph of this one node checks it, and says what is wrong as everywhere.
  sdx::typed::Graph graph;
  std::vector<sdx::typed::Outlet> outlets;
  for (const Value& input : inputs) {
    values.push_back(Bridge::in(input));
    const sdx::Value& value = values.back();
    if (value.is_none()) {
      outlets.emplace_back();
    } else if (value.is_tensor()) {
      outlets.push_back(graph.constant(value.tensor()));
    } else {
      outlets.push_back(graph.source("", sdx::fact_of(value)));
    }
  }
  use.formal_inputs = outlets.size();
  const size_t before = graph.size();
  const auto made = graph.add(use, outlets);
  if (!made) refuse(made.error(), place);
  std::vector<Value> results;
  if (graph.node(uint32_t(before)).kind == sdx::typed::Node::Kind::constant) {  // folded
    for (const auto outlet : *made) {
      results.push_back(outlet.present() ? Value(Bridge::out(*graph.fact(outlet).value)) : Value());
    }
    return results;
  }
  auto evaluated = sdx::typed::eval(graph.node(uint32_t(before)).use, values,
                                    {.reference = false, .isa = sdx::native_isa()});
  if (!evaluated) refuse(std::move(evaluated).error(), place);
  for (const sdx::Value& value : *evaluated) results.push_back(Bridge::out(value));
  return results;
}

sdx::AttrMap resolved(const Attributes& attributes) {
  sdx::AttrMap map;
  for (const auto& [name, value] : attributes) map.insert_or_assign(name, in(value));
  return map;
}

}  // namespace

Making& Making::within(const Graph& graph) {
  state_ = Access::state(graph);
  return *this;
}

Wires Making::outputs(size_t count, Place place) {
  for (const Wire& wire : inputs_) {
    if (state_ == nullptr) state_ = Access::state(wire);
  }
  if (state_ == nullptr) return evaluated(count, place);
  const sdx::DefaultFloating floating;
  NodeRecord node;
  node.op = &operator_named(domain_, op_, place);
  node.domain = domain_;
  node.type = op_;
  node.attributes = resolved(attributes_);
  std::vector<uint32_t>& constants = state_->current->constants;
  const size_t before = constants.size();
  try {
    for (const Wire& wire : inputs_) node.inputs.push_back(state_->use(wire, place));
    Wires wires;
    for (const uint32_t id : state_->add(std::move(node), bodies_, count, place)) {
      wires.push_back(id == kNone ? Wire() : Access::wire(state_, id));
    }
    return wires;
  } catch (const Error&) {
    constants.resize(before);  // literals of a node that was refused
    throw;
  }
}

Wires Making::evaluated(size_t count, Place place) {
  if (!bodies_.empty()) {
    refuse(sdx::fail("SDX-W0007", "{} has subgraphs and no input that is a wire of a graph", op_),
           place);
  }
  sdx::Node use;
  use.op = &operator_named(domain_, op_, place);
  use.opset = use.op->signatures().back().since;
  use.attrs = resolved(attributes_);
  use.wanted.assign(count, true);
  std::vector<Value> inputs;
  while (!inputs_.empty() && !inputs_.back().present()) inputs_.pop_back();
  for (const Wire& wire : inputs_) {
    inputs.push_back(wire.present() ? *Access::literal(wire) : Value());
  }
  Wires wires;
  for (Value& value : evaluate(std::move(use), inputs, place)) {
    wires.push_back(Access::literal(std::move(value)));
  }
  return wires;
}

}  // namespace detail

std::vector<Value> eval(std::string_view op, const std::vector<Value>& inputs,
                        const Attributes& attributes, size_t outputs, int opset, Place place) {
  const auto [domain, name] = detail::split_name(op);
  sdx::Node use;
  use.op = &detail::operator_named(domain, name, place);
  use.opset = opset != 0 ? opset : use.op->signatures().back().since;
  use.attrs = detail::resolved(attributes);
  use.wanted.assign(outputs, true);
  return detail::evaluate(std::move(use), inputs, place);
}

}  // namespace sardonyx
