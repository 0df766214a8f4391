#include "rewrite/rewrite.h"

#include <algorithm>

#include "ops/composed/composition.h"
#include "ops/list.h"
#include "rewrite/known_values.h"
#include "rewrite/layout/layout.h"
#include "rewrite/passes.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {

using typed::Graph;
using typed::Node;
using typed::Outlet;

Rewriting::Rewriting(const Graph& old_graph, std::string_view pass, Isa level)
    : Remake(old_graph, pass), isa(level), moved_(old_graph.size()), uses_(old_graph.size()) {
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
  return node.is(op) ? &node : nullptr;
}

const std::vector<uint32_t>& Rewriting::readers(Outlet outlet) const {
  if (readers_.empty()) readers_ = old.successors();
  return readers_[outlet.node][outlet.slot];
}

Result<std::vector<Outlet>> Rewriting::add(const Op& op, AttrMap attrs, std::vector<Outlet> inputs,
                                           size_t outputs,
                                           std::span<const Node* const> stands_for) {
  sdx::Node use = use_of(op, std::move(attrs), outputs);
  std::vector<std::string> origin;
  for (const Node* node : stands_for) {
    origin.insert(origin.end(), node->origin.begin(), node->origin.end());
    if (use.name.empty()) use.name = node->use.name;
  }
  return made.add(std::move(use), std::move(inputs), std::move(origin));
}

Result<std::vector<Outlet>> Rewriting::add_like(const Node& like, const Op& op, AttrMap changed,
                                                std::vector<Outlet> inputs,
                                                std::span<const Node* const> stands_for) {
  changed.merge(attributes_for(op, like.use));
  return add(op, std::move(changed), std::move(inputs), 1, stands_for);
}

Result<bool> Rewriting::apply(uint32_t id, std::span<const Rule> rules) {
  typed::Remake::Place here = at(id);
  for (const Rule& rule : rules) {
    Result<std::optional<std::vector<Outlet>>> replaced = rule.at(*this, id);
    if (!replaced) return std::move(replaced).error().in(fmt::format("rewrite {}", rule.name));
    if (!*replaced) continue;
    moved_[id] = **std::move(replaced);
    here.by(rule.name);
    return true;
  }
  std::vector<Outlet> inputs;
  for (const Outlet input : old.node(id).inputs) inputs.push_back(now(input));
  SDX_ASSIGN(moved_[id], copy(id, std::move(inputs)));
  return false;
}

Result<Graph> apply_rules(const Graph& graph, std::span<const Rule> rules, std::string_view pass,
                          Isa isa) {
  Rewriting rewriting(graph, pass, isa);
  bool any = false;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const bool is_op = graph.node(id).kind == Node::Kind::op;
    SDX_ASSIGN(const bool applied, rewriting.apply(id, is_op ? rules : std::span<const Rule>()));
    any |= applied;
  }
  if (!any) return graph;
  for (const typed::Output& output : graph.outputs()) {
    rewriting.made.output(output.name, rewriting.now(output.outlet));
  }
  Graph made = rewriting.finish();
#ifndef NDEBUG
  SDX_TRY(made.verify());
#endif
  return made;
}

namespace {

// The graph without operators that are compositions; most models have none.
Result<Graph> simplified(Graph graph) {
  const bool any = std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.kind == Node::Kind::op && is_composed(node.op());
  });
  if (!any) return graph;
  return apply_rules(graph, composed_rules(), "composed_rules");
}

// The graph with its convolutions of 16-bit floats on floats; most models have none.
Result<Graph> widened(Graph graph) {
  const bool any = std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.kind == Node::Kind::op && node.is(ops::conv) && bits(node.outputs[0].type) == 16;
  });
  if (!any) return graph;
  return apply_rules(graph, halves_rules(), "halves_rules");
}

}  // namespace

Result<Graph> optimize(const Graph& graph, const Watch& watch, Isa isa) {
  Graph now = graph.without_dead();
  const auto pass = [&](Result<Graph> made) -> Status {
    if (!made) return std::move(made).error();
    if (watch) watch(now, *made);
    now = *std::move(made);
    return ok();
  };
  SDX_TRY(pass(with_known_values(now)));
  SDX_TRY(pass(simplified(now)));
  SDX_TRY(pass(apply_rules(now, padding_rules(), "padding_rules")));
  SDX_TRY(pass(widened(now)));
  SDX_TRY(pass(apply_rules(now, ordering_rules(), "ordering_rules")));
  SDX_TRY(pass(lay_out(now, Aim::turns)));
  SDX_TRY(pass(apply_rules(now, rules(), "rules")));
  SDX_TRY(pass(apply_rules(now, rules_on_programs(), "rules_on_programs")));
  SDX_TRY(pass(apply_rules(now, constant_rules(), "constant_rules", isa)));
  SDX_TRY(pass(lay_out(now, Aim::kernels)));
  SDX_TRY(pass(apply_rules(now, joining_rules(), "joining_rules")));
  SDX_TRY(pass(apply_rules(now, sharing_rules(), "sharing_rules")));
  return now;
}

Result<Graph> optimize(const Graph& graph) { return optimize(graph, {}, Isa::portable); }

Result<Graph> to_standard_numerics(const Graph& graph) {
  return apply_rules(graph.without_dead(), standard_numerics(), "standard_numerics");
}

}  // namespace sdx::rewrite
