#include "infer/net.h"

#include <algorithm>

namespace sdx::infer {

using typed::Outlet;

Outlet Net::source(std::string name, Fact fact) {
  Node node;
  node.kind = typed::Node::Kind::source;
  node.use.name = std::move(name);
  Known known;
  const Reason declared{Reason::By::declared, uint32_t(nodes.size())};
  if (fact.type != DType::undefined) known.type = declared;
  if (fact.shape) {
    known.rank = declared;
    known.dims.assign(fact.rank(), declared);
  }
  known.fact = std::move(fact);
  node.outputs.push_back(std::move(known));
  nodes.push_back(std::move(node));
  sources.push_back({uint32_t(nodes.size() - 1), 0});
  return sources.back();
}

Outlet Net::constant(Tensor value, std::string name) {
  Node node;
  node.kind = typed::Node::Kind::constant;
  node.use.name = std::move(name);
  const Reason constant{Reason::By::constant, uint32_t(nodes.size())};
  Known known{Fact::constant(std::move(value)), {}, constant, constant, {}};
  node.outputs.push_back(std::move(known));
  nodes.push_back(std::move(node));
  return {uint32_t(nodes.size() - 1), 0};
}

Result<std::vector<Outlet>> Net::add(sdx::Node use, std::vector<Outlet> inputs,
                                     std::vector<std::string>) {
  Node node;
  std::vector<Outlet> outlets;
  for (uint32_t slot = 0; slot < use.wanted.size(); ++slot) {
    Known known;
    if (use.wants(slot)) known.fact = known.told = Fact::tensor(DType::undefined);
    node.outputs.push_back(std::move(known));
    outlets.push_back({uint32_t(nodes.size()), slot});
  }
  node.use = std::move(use);
  node.inputs = std::move(inputs);
  nodes.push_back(std::move(node));
  return outlets;
}

std::string Net::place(uint32_t id) const {
  const Node& node = nodes[id];
  const std::string name = node.use.name.empty() ? "" : fmt::format(" \"{}\"", node.use.name);
  switch (node.kind) {
    case typed::Node::Kind::source:
      return "input" + name;
    case typed::Node::Kind::constant:
      return "constant" + name;
    case typed::Node::Kind::op:
      break;
  }
  return fmt::format("node{} ({})", name, node.use.op->name);
}

std::string Net::text(const Reason& reason) const {
  switch (reason.by) {
    case Reason::By::nothing:
      return "nothing tells";
    case Reason::By::declared:
      return "declared";
    case Reason::By::stated:
      return "value_info or the declared output";
    case Reason::By::constant:
      return place(reason.node);
    case Reason::By::producer:
      return "made by " + place(reason.node);
    case Reason::By::consumer:
      return "required by " + place(reason.node);
    case Reason::By::assumed:
      return "assumed: as wide as the other operand of " + place(reason.node);
  }
  return "";
}

bool is_open(const Dim& dim) {
  if (dim.is_const()) return false;
  std::vector<std::string> names;
  dim.symbols(names);
  return names.size() == 1 && names[0].starts_with('?') && dim == Dim::symbol(names[0]);
}

bool is_open(const Fact& fact) {
  if (!fact.is_tensor()) return false;
  return fact.type == DType::undefined || !fact.shape ||
         std::any_of(fact.shape->begin(), fact.shape->end(),
                     [](const Dim& dim) { return is_open(dim); });
}

}  // namespace sdx::infer
