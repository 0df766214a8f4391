#include "plan/grow/grow.h"

#include <algorithm>

#include "plan/warranted.h"

namespace sdx::plan {
namespace {

using typed::Graph;
using typed::Outlet;

bool same(const Fact& a, const Fact& b) {
  return &a == &b || (a.kind == b.kind && a.type == b.type && a.value == b.value &&
                      a.shape == b.shape && a.symbolic == b.symbolic);
}

// Entries that a constant of the plan, or the choice of a branch, depends on.
std::vector<bool> needed_entries(const Trace& trace) {
  std::vector<bool> needed(trace.entries.size(), false), wire(trace.made.size(), false);
  for (size_t e = trace.entries.size(); e-- > 0;) {
    const Trace::Entry& entry = trace.entries[e];
    size_t read = entry.inputs.size();
    if (entry.outputs.empty()) {
      needed[e] = true;
      read = std::min(read, entry.from->use.formal_inputs);
    }
    for (const Outlet output : entry.outputs) {
      if (!output.present()) continue;
      const bool lives = entry.folded && trace.moved[output.node] != UINT32_MAX;
      needed[e] = needed[e] || lives || wire[output.node];
    }
    for (size_t i = 0; needed[e] && i < read; ++i) {
      if (entry.inputs[i].present()) wire[entry.inputs[i].node] = true;
    }
  }
  return needed;
}

// What follows from other sizes before the plan's graph is made: constants, and which branch runs.
class Folded {
 public:
  explicit Folded(const Base& base) : base_(base), now_(base.trace.made.size()) {}

  void input(Outlet source, const Fact& fact) {
    if (same(fact, made().fact(source))) return;
    now_[source.node] = {fresh_.source(made().node(source.node).use.name, fact)};
  }

  // False: more than sizes changes.
  Result<bool> walk() {
    for (size_t e = 0; e < base_.trace.entries.size(); ++e) {
      const Trace::Entry& entry = base_.trace.entries[e];
      if (!base_.needed[e] || !touched(entry)) continue;
      if (entry.outputs.empty()) {
        if (other_condition(entry)) return false;
        continue;
      }
      SDX_ASSIGN(const std::vector<Outlet> outlets,
                 fresh_.add(entry.from->use, inputs(entry), entry.from->origin));
      if (!note(entry, outlets)) return false;
    }
    return true;
  }

  // The constant in the place of the trace's; null if it is what it was.
  const Fact* constant(uint32_t node) const {
    return now_[node].empty() ? nullptr : &fresh_.fact(now_[node][0]);
  }

 private:
  const Graph& made() const { return base_.trace.made; }

  bool touched(const Trace::Entry& entry) const {
    return std::any_of(entry.inputs.begin(), entry.inputs.end(), [&](const Outlet input) {
      return input.present() && !now_[input.node].empty();
    });
  }

  bool other_condition(const Trace::Entry& entry) const {
    const size_t formal = std::min(entry.from->use.formal_inputs, entry.inputs.size());
    for (size_t i = 0; i < formal; ++i) {
      const Outlet input = entry.inputs[i];
      if (!input.present() || now_[input.node].empty()) continue;
      const Fact& fact = fresh_.fact(now_[input.node][input.slot]);
      if (fact.constant_integers() != made().fact(input).constant_integers()) return true;
    }
    return false;
  }

  std::vector<Outlet> inputs(const Trace::Entry& entry) {
    std::vector<Outlet> outlets;
    for (const Outlet input : entry.inputs) {
      if (!input.present()) {
        outlets.push_back(input);
      } else if (!now_[input.node].empty()) {
        outlets.push_back(now_[input.node][input.slot]);
      } else {
        outlets.push_back(fresh_.source({}, made().fact(input)));
      }
    }
    return outlets;
  }

  bool note(const Trace::Entry& entry, const std::vector<Outlet>& outlets) {
    if (outlets.size() != entry.outputs.size()) return false;
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      const Outlet old = entry.outputs[slot];
      if (old.present() != outlets[slot].present()) return false;
      if (!old.present()) continue;
      const typed::Node& before = made().node(old.node);
      if (before.kind != fresh_.node(outlets[slot].node).kind) return false;
      // A size that only running tells has a name that would mean another one here.
      if (!is_settled(fresh_.fact(outlets[slot]))) return false;
      auto& now = now_[old.node];
      now.resize(before.outputs.size());
      now[old.slot] = outlets[slot];
    }
    return true;
  }

  const Base& base_;
  Graph fresh_;                           // what was typed again
  std::vector<std::vector<Outlet>> now_;  // by node of the trace and slot; empty: as it was
};

// The plan's graph with other sizes, every node at its old number; none if a node is no longer
// there, or is there for the first time.
Result<std::optional<Graph>> resized(const Base& base, const std::vector<Fact>& inputs,
                                     const Bindings& bindings, const Folded& folded) {
  const Graph& old = base.unplaced.graph;
  Graph made;
  made.name = old.name;
  size_t source = 0;
  for (uint32_t id = 0; id < old.size(); ++id) {
    const typed::Node& node = old.node(id);
    if (node.kind == typed::Node::Kind::source) {
      const Fact& fact = inputs[source++];
      if (same(fact, old.fact({id, 0}))) {
        SDX_TRY(made.take(old, id, {}));
      } else {
        made.source(node.use.name, fact);
      }
      continue;
    }
    if (node.kind == typed::Node::Kind::constant) {
      const Fact* fact = folded.constant(base.made_by[id]);
      if (fact == nullptr) {
        SDX_TRY(made.take(old, id, {}));
      } else {
        made.constant(*fact->value, node.use.name);
      }
      continue;
    }
    const bool bodies = node.op().taken != nullptr && has_lasting_bodies(node.use);
    const auto touched = [&](const Outlet input) {
      return input.present() && &made.node(input.node) != &old.node(input.node);
    };
    const bool again = bodies && std::any_of(node.inputs.begin(), node.inputs.end(), touched);
    Result<std::vector<Outlet>> outlets =
        again ? made.add(with_sizes(node.use, bindings), node.inputs, node.origin)
              : made.take(old, id, node.inputs);
    if (!outlets) return std::move(outlets).error();
    if (made.size() != id + 1 || made.node(id).kind != node.kind) return std::optional<Graph>();
  }
  for (const typed::Output& output : old.outputs()) made.output(output.name, output.outlet);
  return std::optional<Graph>(std::move(made));
}

}  // namespace

Base::Base(Trace made, Plan plan, Layout laid_out)
    : trace(std::move(made)),
      unplaced(std::move(plan)),
      layout(std::move(laid_out)),
      needed(needed_entries(trace)),
      made_by(unplaced.graph.size(), 0) {
  for (uint32_t id = 0; id < trace.moved.size(); ++id) {
    if (trace.moved[id] != UINT32_MAX) made_by[trace.moved[id]] = id;
  }
}

namespace {

// They have memory of their own beside the arena.
size_t bytes_of_outputs(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& output : graph.outputs()) {
    const Fact& fact = graph.fact(output.outlet);
    if (!fact.is_concrete() || fact.type == DType::undefined) continue;
    const auto count = element_count(fact.dims());
    if (!count) continue;
    const size_t more = bytes_for(fact.type, *count);
    bytes += std::min(more, SIZE_MAX - bytes);
  }
  return bytes;
}

}  // namespace

Result<std::optional<Plan>> grown(Base& base, const std::vector<Fact>& inputs,
                                  const Bindings& bindings, Pool& pool, size_t most_bytes) {
  Folded folded(base);
  for (size_t i = 0; i < inputs.size(); ++i) folded.input(base.trace.made.inputs()[i], inputs[i]);
  SDX_ASSIGN(const bool sizes_only, folded.walk());
  if (!sizes_only) return std::optional<Plan>();
  SDX_ASSIGN(std::optional<Graph> graph, resized(base, inputs, bindings, folded));
  if (!graph) return std::optional<Plan>();

  const Graph& old = base.unplaced.graph;
  std::vector<bool> changed(old.size(), false);
  for (uint32_t id = 0; id < old.size(); ++id) changed[id] = &graph->node(id) != &old.node(id);
  Plan plan;
  plan.graph = *std::move(graph);
  plan.steps = base.unplaced.steps;
  plan.options = base.unplaced.options;
  if (!choose_again(plan, changed, pool)) return std::optional<Plan>();
  // Room that a larger run was given, or was refused, is not this one's.
  const size_t outputs = bytes_of_outputs(plan.graph);
  const auto too_large = [&](const Layout& layout) {
    const auto exceeds = [&](size_t limit) {
      return layout.arena_bytes > limit || outputs > limit - layout.arena_bytes;
    };
    return exceeds(std::min(most_bytes, kFewBytes)) &&
           exceeds(memory_limit(plan.graph, most_bytes));
  };
  // A node that is as in the base may still be larger than where the layout was made.
  std::vector<bool> asked = changed;
  for (size_t id = 0; id < base.moved.size(); ++id) asked[id] = asked[id] || base.moved[id];
  if (!fits(base.layout, plan, asked) || too_large(base.layout)) {
    Layout layout = lay_out(plan, changed);
    if (too_large(layout)) layout = lay_out(plan);
    base.layout = std::move(layout);
    base.moved = std::move(changed);
  }
  place_wires(plan, base.layout);
  return std::optional<Plan>(std::move(plan));
}

}  // namespace sdx::plan
