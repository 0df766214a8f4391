#include "rewrite/rewrite.h"

#include "rewrite/rules.h"

namespace sdx::rewrite {

using typed::Graph;
using typed::Node;
using typed::Outlet;

Rewriting::Rewriting(const Graph& old_graph, std::string_view pass)
    : Remake(old_graph, pass), moved_(old_graph.size()), uses_(old_graph.size()) {
  for (uint32_t id = 0; id < old.size(); ++id) uses_[id].resize(old.node(id).outputs.size());
  for (const Node& node : old.nodes()) {
    for (const Outlet input : node.inputs) {
      if (input.present()) ++uses_[input.node][input.slot];
    }
  }
  for (const typed::Output& output : old.outputs()) ++uses_[output.outlet.node][output.outlet.slot];
}

const Node* Rewriting::only_from(Outlet outlet, const Op& op) const {
  if (!outlet.present() || uses(outlet) != 1) return nullptr;
  const Node& node = old.node(outlet.node);
  return node.kind == Node::Kind::op && node.use.op == &op ? &node : nullptr;
}

const std::vector<uint32_t>& Rewriting::readers(Outlet outlet) const {
  if (readers_.empty()) readers_ = old.successors();
  return readers_[outlet.node][outlet.slot];
}

Result<std::vector<Outlet>> Rewriting::add(const Op& op, AttrMap attrs, std::vector<Outlet> inputs,
                                           size_t outputs,
                                           std::span<const Node* const> stands_for) {
  sdx::Node use;
  use.op = &op;
  use.opset = op.signatures().back().since;
  use.attrs = std::move(attrs);
  use.wanted.assign(outputs, true);
  std::vector<std::string> origin;
  for (const Node* node : stands_for) {
    origin.insert(origin.end(), node->origin.begin(), node->origin.end());
    if (use.name.empty()) use.name = node->use.name;
  }
  return made.add(std::move(use), std::move(inputs), std::move(origin));
}

Result<Graph> apply_rules(const Graph& graph, std::span<const Rule> rules, std::string_view pass) {
  Rewriting rewriting(graph, pass);
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    typed::Remake::Place here = rewriting.at(id);
    std::vector<Outlet>& wires = rewriting.moved_[id];
    if (node.kind == Node::Kind::source) {
      wires = {rewriting.made.source(node.use.name, node.outputs[0])};
      continue;
    }
    if (node.kind == Node::Kind::constant) {
      wires = {rewriting.made.constant(*node.outputs[0].value, node.use.name)};
      continue;
    }
    for (const Rule& rule : rules) {
      Result<std::optional<std::vector<Outlet>>> replaced = rule.at(rewriting, id);
      if (!replaced) return std::move(replaced).error().in(fmt::format("rewrite {}", rule.name));
      if (*replaced) {
        wires = **std::move(replaced);
        here.by(rule.name);
        break;
      }
    }
    if (!wires.empty()) continue;
    std::vector<Outlet> inputs;
    for (const Outlet input : node.inputs) inputs.push_back(rewriting.now(input));
    SDX_ASSIGN(wires, rewriting.made.add(node.use, std::move(inputs), node.origin));
  }
  for (const typed::Output& output : graph.outputs()) {
    rewriting.made.output(output.name, rewriting.now(output.outlet));
  }
  Graph made = rewriting.finish();
#ifndef NDEBUG
  SDX_TRY(made.verify());
#endif
  return made;
}

Result<Graph> optimize(const Graph& graph) {
  SDX_ASSIGN(const Graph ordered,
             apply_rules(graph.without_dead(), ordering_rules(), "ordering_rules"));
  SDX_ASSIGN(const Graph images, apply_rules(ordered, image_rules(), "image_rules"));
  SDX_ASSIGN(const Graph programs, apply_rules(images, rules(), "rules"));
  SDX_ASSIGN(const Graph fused, apply_rules(programs, rules_on_programs(), "rules_on_programs"));
  SDX_ASSIGN(const Graph made, apply_rules(fused, layout_rules(), "layout_rules"));
  SDX_ASSIGN(const Graph blocked, blocked_layout(made));
  return apply_rules(blocked, blocked_rules(), "blocked_rules");
}

Result<Graph> to_standard_numerics(const Graph& graph) {
  return apply_rules(graph.without_dead(), standard_numerics(), "standard_numerics");
}

}  // namespace sdx::rewrite
