#include "plan/grow/resizing.h"

#include <algorithm>

namespace sdx::plan {

using typed::Graph;

Resizing::Resizing(const Base& base)
    : base_(base),
      alike_(base.alike),
      facts_(alike_.facts),
      next_fact_(alike_.all_facts),
      like_(base.unplaced.graph.size(), Alike::kNone),
      made_(alike_.all_kinds) {}

std::vector<uint32_t> Resizing::distinct() const {
  std::vector<uint32_t> nodes;
  for (const uint32_t id : changed_) {
    if (like_[id] == id) nodes.push_back(id);
  }
  return nodes;
}

bool Resizing::reached(uint32_t node) const {
  for (uint32_t r = alike_.first_read[node]; r < alike_.first_read[node + 1]; ++r) {
    const uint32_t wire = alike_.reads[r];
    if (facts_[wire] != alike_.facts[wire]) return true;
  }
  return false;
}

bool Resizing::reads_same(uint32_t a, uint32_t b) const {
  const auto* of_a = alike_.reads.data() + alike_.first_read[a];
  const auto* of_b = alike_.reads.data() + alike_.first_read[b];
  const uint32_t count = alike_.first_read[a + 1] - alike_.first_read[a];
  if (count != alike_.first_read[b + 1] - alike_.first_read[b]) return false;
  return std::equal(of_a, of_a + count, of_b,
                    [&](uint32_t x, uint32_t y) { return facts_[x] == facts_[y]; });
}

uint32_t Resizing::number_of(const Fact& fact) {
  constexpr size_t kMostTried = 64;
  const auto known = std::find_if(fresh_.begin(), fresh_.end(), [&](const auto& other) {
    return alike_facts(*other.first, fact);
  });
  if (known != fresh_.end()) return known->second;
  if (fresh_.size() < kMostTried) fresh_.emplace_back(&fact, next_fact_);
  return next_fact_++;
}

// Notes a node that was made again: which of its wires have another fact.
void Resizing::changes(uint32_t node, const Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  if (&graph.node(node) == &old.node(node)) return;
  changed_.push_back(node);
  like_[node] = node;
  const Facts &now = graph.node(node).outputs, &before = old.node(node).outputs;
  for (uint32_t slot = 0; slot < now.size(); ++slot) {
    if (!alike_facts(now[slot], before[slot]))
      facts_[alike_.first_wire[node] + slot] = number_of(now[slot]);
  }
}

Result<bool> Resizing::renew(uint32_t node, const Bindings& bindings, Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  const uint32_t kind = alike_.kinds[node];
  if (kind == Alike::kNone) {
    const sdx::Node& use = old.node(node).use;
    const bool bodies = use.op->taken != nullptr && has_lasting_bodies(use);
    SDX_ASSIGN(const bool renewed,
               bodies ? graph.renew(node, with_sizes(use, bindings), old) : graph.renew(node, old));
    if (renewed) changes(node, graph);
    return renewed;
  }
  auto& made = made_[kind];
  const auto like = std::find_if(made.begin(), made.end(),
                                 [&](uint32_t other) { return reads_same(other, node); });
  if (like != made.end()) {
    graph.renew_like(node, *like, old);
    changed_.push_back(node);
    like_[node] = *like;
    std::copy(facts_.begin() + alike_.first_wire[*like],
              facts_.begin() + alike_.first_wire[*like + 1],
              facts_.begin() + alike_.first_wire[node]);
    return true;
  }
  SDX_ASSIGN(const bool renewed, graph.renew(node, old));
  if (!renewed) return false;
  changes(node, graph);
  const Facts& outputs = graph.node(node).outputs;
  constexpr size_t kMostTried = 8;
  // A size that only running tells is named after its node.
  if (like_[node] == node && made.size() < kMostTried &&
      std::all_of(outputs.begin(), outputs.end(), is_settled)) {
    made.push_back(node);
  }
  return true;
}

Result<bool> Resizing::run(const OpenInputs& inputs, const Bindings& bindings, const Folded& folded,
                           Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  size_t source = 0, open = 0, constant = 0;
  for (uint32_t id = 0; id < old.size(); ++id) {
    const size_t before = changed_.size();
    if (source < base_.sources.size() && base_.sources[source] == id) {
      const size_t input = source++;
      const bool may_change = open < inputs.size() && inputs[open].first == input;
      if (may_change && !same_fact(inputs[open].second, old.fact({id, 0}))) {
        graph.renew(id, inputs[open].second);
        changes(id, graph);
      }
      open += may_change ? 1 : 0;
    } else if (constant < base_.folded.size() && base_.folded[constant].first == id) {
      if (const Fact* fact = folded.constant(base_.folded[constant++].second)) {
        graph.renew(id, *fact);
        changes(id, graph);
      }
    } else if (reached(id)) {
      SDX_ASSIGN(const bool renewed, renew(id, bindings, graph));
      if (!renewed) return false;
    }
    if (changed_.size() == before && &graph.node(id) != &old.node(id)) graph.share(id, old);
  }
  return true;
}

}  // namespace sdx::plan
