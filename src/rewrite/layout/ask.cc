#include "rewrite/layout/ask.h"

#include <algorithm>

#include "ops/list.h"

namespace sdx::rewrite {

using typed::Graph;
using typed::Node;
using typed::Outlet;

std::span<const Family> families() {
  static constexpr Family kFamilies[] = {
      {"channels_blocked", channels_blocked,
       [](const Fact& fact) {
         return fact.type == DType::f32 && fact.rank() == 4 && fact.dim(1).is_const() &&
                fact.dim(1).value() > 1;
       }},
      {"channels_last", channels_last, [](const Fact& fact) { return fact.rank() > 2; }}};
  return kFamilies;
}

bool convertible(const Fact& fact, const Layout& layout) {
  if (!fact.is_tensor() || !fact.has_rank() || fact.rank() > layout.rank()) return false;
  if (!layout.blocked) return true;
  const size_t missing = layout.rank() - fact.rank();
  if (*layout.blocked < missing) return true;
  const Dim& size = fact.dim(*layout.blocked - missing);
  return size.is_const(1) || (size.is_const() && fact.type == DType::f32);
}

namespace {

// Whether an output in this layout can be brought back.
bool restorable(const Fact& fact, const Layout& layout) {
  if (!layout.blocked) return true;
  return fact.type == DType::f32 && fact.has_rank() && fact.rank() == layout.rank() &&
         fact.dim(*layout.blocked).is_const() && fact.dim(*layout.blocked).value() > 1;
}

}  // namespace

std::optional<Relaid> ask(const Graph& graph, const Node& node, size_t from, const Layout& layout) {
  if (node.kind != Node::Kind::op || node.op().layout == nullptr) return std::nullopt;
  Facts in;
  for (const Outlet input : node.inputs) in.push_back(graph.fact(input));
  if (!in[from].is_tensor() || !in[from].has_rank() || in[from].rank() != layout.rank())
    return std::nullopt;
  std::optional<Relaid> answer =
      node.op().layout(node.resolved.get(), {node.use, in, node.outputs, from, layout});
  if (!answer) return std::nullopt;
  if (answer->canonical_nan && !is_computed(graph, node.inputs[from])) return std::nullopt;
  for (const Operand& operand : answer->inputs) {
    if (operand.input != Operand::kConstant && operand.layout && in[operand.input].present() &&
        !convertible(in[operand.input], *operand.layout)) {
      return std::nullopt;
    }
  }
  for (const Fact& fact : node.outputs) {
    if (fact.present() && !restorable(fact, answer->out)) return std::nullopt;
  }
  return answer;
}

std::optional<Relaid> ask(const Graph& graph, const Node& node, const Family& family) {
  const auto takes = [&](const Fact& fact) {
    return fact.is_tensor() && fact.has_rank() && family.takes(fact);
  };
  for (size_t from = 0; from < node.inputs.size(); ++from) {
    const Fact& fact = graph.fact(node.inputs[from]);
    if (!node.inputs[from].present() || fact.value != nullptr || !takes(fact)) continue;
    std::optional<Relaid> answer = ask(graph, node, from, family.of(fact.rank()));
    if (!answer) continue;
    Layout out = answer->out;
    out.one.reset();
    const bool stays = std::all_of(node.outputs.begin(), node.outputs.end(), [&](const Fact& y) {
      return !y.present() || out.plain() ||
             (takes(y) && y.rank() == out.rank() && out == family.of(y.rank()));
    });
    if (stays) return answer;
  }
  return std::nullopt;
}

bool is_view(const Graph& graph, const Node& node) {
  if (node.kind != Node::Kind::op || node.op().layout == nullptr || node.op().alias == nullptr ||
      node.outputs.size() != 1) {
    return false;
  }
  if (node.is(ops::slice)) return false;  // as many elements, perhaps the other way round
  const Fact &x = graph.fact(node.inputs[0]), &y = node.outputs[0];
  return x.has_rank() && y.has_rank() && x.type == y.type && product(*x.shape) == product(*y.shape);
}

bool is_computed(const Graph& graph, Outlet wire) {
  const Node* node = &graph.node(wire.node);
  while (is_view(graph, *node)) node = &graph.node(node->inputs[0].node);
  return node->kind == Node::Kind::op &&
         (node->op().pointwise != nullptr || node->op().multiply_adds != nullptr);
}

}  // namespace sdx::rewrite
