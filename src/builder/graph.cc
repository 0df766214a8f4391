// The public graph, its wires and its nodes.
#include "sardonyx/graph.h"

#include <algorithm>
#include <ostream>

#include "api/bridge.h"
#include "api/floating.h"
#include "builder/body.h"
#include "builder/making.h"
#include "builder/state.h"
#include "check/check.h"
#include "model/fields.h"
#include "model/io.h"

namespace sardonyx {

using detail::Access;
using detail::kNone;
using detail::refuse;

Wire::Wire(Tensor literal) {
  if (literal.type() == Type::undefined) {
    refuse(sdx::fail("SDX-W0005", "a tensor of no element type is no literal"), {});
  }
  literal_ = std::make_shared<const Value>(std::move(literal));
}

Fact Wire::fact() const {
  if (state_ != nullptr) return detail::out(state_->wires[id_].fact);
  return literal_ == nullptr ? Fact() : detail::out(sdx::fact_of(Bridge::in(*literal_)));
}

const std::string& Wire::name() const {
  static const std::string kUnnamed;
  return state_ != nullptr ? state_->wires[id_].name : kUnnamed;
}

std::string Wire::text() const {
  if (!present()) return "_";
  if (state_ == nullptr) return "literal: " + fact().text();
  return fmt::format("%{}: {}", name(), state_->wires[id_].fact.text());
}

Wire Wire::named(std::string name, Place place) const {
  if (state_ == nullptr) {
    refuse(sdx::fail("SDX-W0001",
                     "only a wire of a graph has a name; \"{}\" was given to a literal", name),
           place);
  }
  state_->claim(name, place);
  state_->names.erase(state_->wires[id_].name);
  state_->wires[id_].name = std::move(name);
  return *this;
}

std::optional<Node> Wire::node() const {
  if (state_ == nullptr || state_->wires[id_].node == kNone) return std::nullopt;
  return Access::node(state_, state_->wires[id_].node);
}

Tensor Wire::value() const {
  if (literal_ != nullptr) return std::get<Tensor>(*literal_);
  if (state_ == nullptr || state_->wires[id_].fact.value == nullptr) {
    refuse(sdx::fail("SDX-W0008", "the value of {} is not known before a run", text()), {});
  }
  return Bridge::out(*state_->wires[id_].fact.value);
}

std::string Node::op() const {
  const detail::NodeRecord& node = state_->nodes[id_];
  return node.domain.empty() ? node.type : fmt::format("{}::{}", node.domain, node.type);
}
const std::string& Node::name() const { return state_->nodes[id_].name; }
Place Node::place() const { return state_->nodes[id_].place; }

Wires Node::inputs() const {
  Wires wires;
  for (const uint32_t id : state_->nodes[id_].inputs) {
    wires.push_back(id == kNone ? Wire() : Access::wire(state_, id));
  }
  return wires;
}

Wires Node::outputs() const {
  Wires wires;
  for (const uint32_t id : state_->nodes[id_].outputs) {
    wires.push_back(id == kNone ? Wire() : Access::wire(state_, id));
  }
  return wires;
}

std::vector<Node> Node::before() const {
  std::vector<bool> needed(state_->nodes.size(), false);
  const auto need = [&](const std::vector<uint32_t>& wires) {
    for (const uint32_t id : wires) {
      if (id != kNone && state_->wires[id].node != kNone) needed[state_->wires[id].node] = true;
    }
  };
  const auto need_inputs = [&](const detail::NodeRecord& node) {
    need(node.inputs);
    need(node.captured);
  };
  need_inputs(state_->nodes[id_]);
  // A node is made after what it reads, so one walk back meets them all.
  for (size_t i = id_; i-- > 0;) {
    if (needed[i]) need_inputs(state_->nodes[i]);
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i < id_; ++i) {
    if (needed[i]) nodes.push_back(Access::node(state_, uint32_t(i)));
  }
  return nodes;
}

std::string Node::text() const {
  const auto list = [](const Wires& wires) {
    std::string text;
    for (const Wire& wire : wires) text += (text.empty() ? "" : ", ") + wire.text();
    return text;
  };
  return fmt::format("{} = {}({})", list(outputs()), op(), list(inputs()));
}

Graph::Graph(std::string name) : state_(std::make_shared<detail::State>(std::move(name))) {}

const std::string& Graph::name() const { return state_->name; }

Wire Graph::parameter(const std::string& name, Type type, std::vector<Dim> dims, Place place) {
  return parameter(name, Fact::tensor(type, std::move(dims)), place);
}

Wire Graph::parameter(const std::string& name, Fact fact, Place place) {
  const sdx::Fact given = detail::in(fact, name);
  if (state_->current != &state_->main) {
    refuse(sdx::fail("SDX-W0009", "parameter \"{}\" within a subgraph or function", name), place);
  }
  if (!given.present() || (given.is_tensor() && given.type == sdx::DType::undefined)) {
    refuse(sdx::fail("SDX-W0009", "parameter \"{}\" has no type", name), place);
  }
  for (const sdx::Dim& dim : given.shape.value_or(sdx::Shape())) {
    if (dim.is_const() && dim.value() < 0) {
      refuse(sdx::fail("SDX-W0009", "parameter \"{}\" has the dimension {}", name, dim.value()),
             place);
    }
  }
  state_->claim(name, place);
  const uint32_t id = state_->add_wire(name, state_->main.own.source(name, given));
  state_->parameters.push_back(id);
  return Access::wire(state_, id);
}

Wire Graph::constant(const std::string& name, Tensor value, Place place) {
  if (value.type() == Type::undefined) {
    refuse(sdx::fail("SDX-W0005", "constant \"{}\" has no element type", name), place);
  }
  state_->claim(name, place);
  return Access::wire(state_, state_->add_constant(name, Bridge::in(value).copy()));
}

Wires Graph::node(std::string_view op, const Wires& inputs, const Attributes& attributes,
                  size_t outputs, Place place) {
  const auto [domain, name] = detail::split_name(op);
  detail::Making making(domain, name);
  making.within(*this).in(inputs);
  for (const auto& [attribute, value] : attributes) making.set(attribute.c_str(), value);
  return making.outputs(outputs, place);
}

void Graph::result(const std::string& name, const Wire& wire, Place place) {
  if (!wire.present()) {
    refuse(sdx::fail("SDX-W0006", "result \"{}\" is no wire", name), place);
  }
  const uint32_t id = state_->use(wire, place);
  (void)state_->resolve(id, place);
  if (state_->wires[id].name != name || state_->wires[id].node == kNone) {
    state_->claim(name, place);
  }
  state_->results.emplace_back(name, id);
}

Wires Graph::parameters() const {
  Wires wires;
  for (const uint32_t id : state_->parameters) wires.push_back(Access::wire(state_, id));
  return wires;
}

std::vector<Node> Graph::nodes() const {
  std::vector<Node> nodes;
  for (const uint32_t id : state_->main.nodes) nodes.push_back(Access::node(state_, id));
  return nodes;
}

std::string Graph::text() const {
  std::string text = fmt::format("graph {} {{\n", state_->name);
  for (const Wire& wire : parameters()) text += fmt::format("  {} = parameter\n", wire.text());
  for (const uint32_t id : state_->main.constants) {
    text += fmt::format("  {} = constant\n", Access::wire(state_, id).text());
  }
  for (const Node& node : nodes()) text += fmt::format("  {}\n", node.text());
  for (const auto& [name, id] : state_->results) {
    text += fmt::format("  result {} = {}\n", name, Access::wire(state_, id).text());
  }
  return text + "}\n";
}

std::ostream& operator<<(std::ostream& out, const Wire& wire) { return out << wire.text(); }
std::ostream& operator<<(std::ostream& out, const Node& node) { return out << node.text(); }
std::ostream& operator<<(std::ostream& out, const Graph& graph) { return out << graph.text(); }

Model Graph::model() const {
  auto model = detail::emit(*state_);
  const auto checked = sdx::check::checked(model);
  if (!checked) throw Bridge::error(checked.error());
  return Bridge::model(std::move(model));
}

void Graph::save(const std::string& path) const {
  const auto model = detail::emit(*state_);
  const auto checked = sdx::check::checked(model);
  if (!checked) throw Bridge::error(checked.error());
  const sdx::Status written = sdx::model::write_file(*model, path);
  if (!written) throw Bridge::error(written.error());
}

}  // namespace sardonyx
