#include "plan/grow/resizing.h"

#include <algorithm>
#include <bit>

#include "base/fetch.h"

namespace sdx::plan {

using typed::Graph;

Resizing::Resizing(Base& base, Formulas::Values values)
    : base_(base),
      alike_(base.alike),
      values_(std::move(values)),
      facts_(alike_.facts),
      next_fact_(alike_.all_facts + base.formulas.all_kinds()),
      like_(base.unplaced.graph.size(), Alike::kNone),
      by_numbers_(!values_.empty()),
      made_(alike_.all_kinds),
      reached_(base.unplaced.graph.size()) {}

std::vector<uint32_t> Resizing::distinct() const {
  std::vector<uint32_t> nodes;
  for (const uint32_t id : changed_) {
    if (like_[id] == id) nodes.push_back(id);
  }
  return nodes;
}

bool Resizing::changes_formal_input(uint32_t node) const {
  const uint32_t first = alike_.first_read[node];
  const size_t formal = base_.unplaced.graph.node(node).use.formal_inputs;
  const uint32_t last = std::min(alike_.first_read[node + 1], first + uint32_t(formal));
  for (uint32_t r = first; r < last; ++r) {
    if (facts_[alike_.reads[r]] != alike_.facts[alike_.reads[r]]) return true;
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

uint32_t Resizing::number_of(const Fact& fact, size_t hash) {
  constexpr size_t kMostTried = 64;
  const auto known = std::find_if(fresh_.begin(), fresh_.end(), [&](const Fresh& other) {
    return other.hash == hash && alike_facts(*other.fact, fact);
  });
  if (known != fresh_.end()) return known->number;
  if (fresh_.size() < kMostTried) fresh_.push_back({hash, &fact, next_fact_});
  return next_fact_++;
}

// Notes a node that was made again, and what reads those of its wires that have another fact.
void Resizing::changes(uint32_t node, const Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  if (&graph.node(node) == &old.node(node)) return;
  changed_.push_back(node);
  like_[node] = node;
  const Facts& now = graph.node(node).outputs;
  for (uint32_t slot = 0; slot < now.size(); ++slot) {
    const uint32_t wire = alike_.first_wire[node] + slot;
    const size_t hash = hash_of(now[slot]);
    if (hash == alike_.hashes[wire] && alike_facts(now[slot], old.node(node).outputs[slot]))
      continue;
    facts_[wire] = number_of(now[slot], hash);
    reach(wire);
  }
}

// The same of a node whose wires have formulas, and are what these say.
void Resizing::notes(uint32_t node, uint32_t like) {
  changed_.push_back(node);
  like_[node] = like;
  for (uint32_t wire = alike_.first_wire[node]; wire < alike_.first_wire[node + 1]; ++wire) {
    if (!base_.formulas.has(wire)) continue;
    if (!base_.formulas.is_poor(wire) && !base_.formulas.differs(wire, values_)) continue;
    facts_[wire] = alike_.all_facts + base_.formulas.kind(wire);
    reach(wire);
  }
}

void Resizing::reach(uint32_t wire) {
  for (uint32_t r = alike_.first_reader[wire]; r < alike_.first_reader[wire + 1]; ++r)
    reached_.add(alike_.readers[r]);
}

// A node that nothing is known to be like.
Result<bool> Resizing::renew_alone(uint32_t node, const Bindings& bindings, Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  const sdx::Node& use = old.node(node).use;
  const auto branches = base_.branches.find(node);
  if (branches != base_.branches.end() && !changes_formal_input(node) &&
      branches->second.give_same(values_)) {
    graph.share(node, old);
    kept_.push_back(node);
    return true;
  }
  by_numbers_ = false;
  const bool bodies = use.op->taken != nullptr && has_lasting_bodies(use);
  SDX_ASSIGN(const bool renewed,
             bodies ? graph.renew(node, with_sizes(use, bindings), old) : graph.renew(node, old));
  if (renewed) changes(node, graph);
  return renewed;
}

Result<bool> Resizing::renew(uint32_t node, const Bindings& bindings, Graph& graph) {
  if (alike_.kinds[node] == Alike::kNone) return renew_alone(node, bindings, graph);
  const uint32_t set = base_.formulas.set_of(node);
  if (set != Formulas::kNone && !values_.empty()) return renew_by_formulas(node, set, graph);
  SDX_ASSIGN(const bool renewed, renew_typed(node, graph));
  if (!renewed || values_.empty()) return renewed;
  // What reads it may go by its formulas.
  const Facts& outputs = graph.node(node).outputs;
  for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
    const uint32_t wire = alike_.first_wire[node] + slot;
    if (base_.formulas.has(wire) && !base_.formulas.hold(wire, outputs[slot], values_))
      return false;
  }
  return true;
}

// Sizes that follow from formulas. False: no tensor has them.
bool Resizing::write(uint32_t node, std::shared_ptr<const void> resolved, Graph& graph) {
  Facts& outputs = graph.renew_known(node, std::move(resolved), base_.unplaced.graph);
  for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
    const uint32_t wire = alike_.first_wire[node] + slot;
    if (outputs[slot].present() && !base_.formulas.write(wire, values_, outputs[slot]))
      return false;
  }
  return true;
}

// A node of a set that was typed before, for sizes like these; else it is typed for them now.
Result<bool> Resizing::renew_by_formulas(uint32_t node, uint32_t set, Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  const uint32_t first = base_.formulas.first_of(set);
  const bool is_known = node != first && is_changed(first);
  auto resolved = is_known ? graph.node(first).resolved : base_.formulas.known(set, values_);
  if (resolved == nullptr) {
    SDX_ASSIGN(const bool renewed, graph.renew(node, old));
    if (!renewed) return false;
    const Facts& outputs = graph.node(node).outputs;
    for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
      const uint32_t wire = alike_.first_wire[node] + slot;
      if (outputs[slot].present() && !base_.formulas.hold(wire, outputs[slot], values_))
        return false;
    }
    resolved = graph.node(node).resolved;
    base_.formulas.learn(set, values_, resolved);
  }
  if (!write(node, std::move(resolved), graph)) return false;
  by_numbers_ = by_numbers_ && base_.formulas.outlasts(set, values_);
  notes(node, is_known ? first : node);
  return true;
}

// One for all nodes that read the same.
Result<bool> Resizing::renew_typed(uint32_t node, Graph& graph) {
  by_numbers_ = false;
  const Graph& old = base_.unplaced.graph;
  auto& made = made_[alike_.kinds[node]];
  const auto like = std::find_if(made.begin(), made.end(),
                                 [&](uint32_t other) { return reads_same(other, node); });
  if (like != made.end()) {
    graph.renew_like(node, *like, old);
    changed_.push_back(node);
    like_[node] = *like;
    const uint32_t first = alike_.first_wire[node], its = alike_.first_wire[*like];
    for (uint32_t slot = 0; slot < alike_.first_wire[node + 1] - first; ++slot) {
      facts_[first + slot] = facts_[its + slot];
      if (facts_[first + slot] != alike_.facts[first + slot]) reach(first + slot);
    }
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

void Resizing::put(uint32_t node, const Fact& fact, Graph& graph) {
  by_numbers_ = false;
  graph.renew(node, fact);
  changes(node, graph);
}

// What reads nothing: inputs and constants. False: no tensor is as large as an input.
bool Resizing::leaves(const OpenInputs& inputs, const Folded& folded,
                      const std::vector<uint32_t>& before, Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  const Formulas& formulas = base_.formulas;
  for (const uint32_t id : values_.empty() ? std::vector<uint32_t>() : formulas.inputs()) {
    const uint32_t wire = alike_.first_wire[id];
    if (!formulas.differs(wire, values_)) continue;
    if (!formulas.write(wire, values_, graph.renew_known(id, nullptr, old)[0])) return false;
    notes(id, id);
  }
  for (const auto& [i, fact] : inputs) {
    const uint32_t id = base_.sources[i];
    if (!values_.empty() && formulas.has(alike_.first_wire[id])) continue;
    if (!same_fact(fact, old.fact({id, 0}))) put(id, fact, graph);
  }
  for (size_t i = 0; folded.any() && i < base_.folded.size(); ++i) {
    if (const Fact* fact = folded.constant(base_.folded[i].second))
      put(base_.folded[i].first, *fact, graph);
  }
  for (const uint32_t id : before) {
    if (reads_nothing(id) && !is_changed(id)) graph.share(id, old);
  }
  return true;
}

Result<bool> Resizing::run(const OpenInputs& inputs, const Bindings& bindings, const Folded& folded,
                           const std::vector<uint32_t>& before, Graph& graph) {
  const Graph& old = base_.unplaced.graph;
  // Nodes lie apart, and were not looked at since their sizes were last met.
  for (const uint32_t id : before) fetch(&graph.node(id), sizeof(typed::Node));
  for (const uint32_t id : before) fetch(graph.node(id).outputs.data(), sizeof(Fact));
  for (const uint32_t id : before) {
    const Facts& outputs = graph.node(id).outputs;
    if (!outputs.empty() && outputs[0].shape)
      fetch(outputs[0].shape->data(), outputs[0].rank() * sizeof(Dim));
  }
  if (!leaves(inputs, folded, before, graph)) return false;
  Nodes stale(old.size());
  for (const uint32_t id : before) {
    if (!reads_nothing(id)) stale.add(id);
  }
  // What reads a node stands behind it, so that the least one is ready.
  for (uint32_t word = 0; word < reached_.words.size(); ++word) {
    while (const uint64_t bits = reached_.words[word] | stale.words[word]) {
      const uint32_t id = 64 * word + uint32_t(std::countr_zero(bits));
      const bool was_stale = stale.take(id);
      if (reached_.take(id)) {
        SDX_ASSIGN(const bool renewed, renew(id, bindings, graph));
        if (!renewed) return false;
      }
      if (was_stale && !is_changed(id)) graph.share(id, old);
    }
  }
  return true;
}

}  // namespace sdx::plan
