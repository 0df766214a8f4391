#include "plan/grow/grow.h"

#include <algorithm>

#include "base/fetch.h"
#include "plan/grow/resizing.h"
#include "plan/warranted.h"

namespace sdx::plan {
namespace {

using typed::Graph;
using typed::Outlet;

// They have memory of their own beside the arena.
size_t bytes_of_outputs(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& output : graph.outputs()) {
    const Fact& fact = graph.fact(output.outlet);
    if (fact.type == DType::undefined) continue;
    bytes += std::min(bytes_of(fact), SIZE_MAX - bytes);
  }
  return bytes;
}

// One plan in the making.
class Grower {
 public:
  Grower(Base& base, size_t most_bytes) : base_(base), most_bytes_(most_bytes) {}

  // Steps of the changed nodes, chosen again. False: more than sizes changes.
  bool choose(const Graph& graph, const Resizing& sizes, Pool& pool) {
    chosen_at_.assign(base_.unplaced.steps.size(), kNone);
    const std::vector<uint32_t> steps = base_.steps_of(sizes.changed());
    for (const uint32_t s : steps) {
      fetch(&base_.unplaced.steps[s], sizeof(Step));
      fetch(base_.layout->wires[base_.unplaced.steps[s].node].data(), sizeof(Layout::Wire));
    }
    chosen_.reserve(steps.size());
    for (const uint32_t s : steps) {
      const Step& step = base_.unplaced.steps[s];
      const size_t like = like_of(step, sizes, graph);
      auto now = chosen_again(step, graph, base_.unplaced.options, pool,
                              like == kNone ? nullptr : &chosen_[like].now);
      if (!now) return false;
      chosen_at_[s] = chosen_.size();
      chosen_.push_back({s, *std::move(now), like});
    }
    return true;
  }

  bool layout_fits(const Graph& graph) const {
    const Options& options = base_.unplaced.options;
    const Layout& layout = *base_.layout;
    for (const Chosen& one : chosen_) {
      const Chosen* like = one.like == kNone ? nullptr : &chosen_[one.like];
      const bool alike = like != nullptr && layout.views[like->step] == layout.views[one.step];
      if (!fits(layout, one.step, one.now, graph, options, alike ? &like->now : nullptr))
        return false;
    }
    // A node that is as in the base may still be larger than where the layout was made.
    for (const uint32_t s : base_.moved) {
      if (chosen_at_[s] == kNone && !fits(layout, s, base_.unplaced.steps[s], graph, options)) {
        return false;
      }
    }
    return !too_large(layout, graph);
  }

  // The plan of the graph, all of whose steps are written down anew.
  Plan whole(Graph graph, bool fits, const std::vector<uint32_t>& changed) {
    Plan plan;
    plan.graph = std::move(graph);
    plan.steps = base_.unplaced.steps;
    plan.options = base_.unplaced.options;
    for (Chosen& one : chosen_) plan.steps[one.step] = std::move(one.now);
    if (!fits) {
      std::vector<bool> growing(plan.graph.size(), false);
      for (const uint32_t id : changed) growing[id] = true;
      Layout layout = lay_out(plan, growing);
      if (too_large(layout, plan.graph)) layout = lay_out(plan);
      base_.use(std::move(layout));
      base_.moved = base_.steps_of(changed);
    }
    place_wires(plan, *base_.layout);
    plan.layout = base_.layout;
    plan.resized = placed();
    plan.renewed = changed;
    return plan;
  }

  // The same from a plan of that layout, whose nodes in `before` were of other sizes.
  void patch(Plan& plan, const std::vector<uint32_t>& before) {
    for (const uint32_t s : base_.steps_of(before)) {
      if (chosen_at_[s] == kNone) put(plan, s, base_.unplaced.steps[s]);
    }
    for (Chosen& one : chosen_) put(plan, one.step, std::move(one.now));
    plan.resized = placed();
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Chosen {
    uint32_t step;  // its number among the base's
    Step now;
    size_t like;  // which of those before it does the same
  };

  size_t like_of(const Step& step, const Resizing& sizes, const Graph& graph) const {
    const uint32_t node = step.node, like = sizes.like(node);
    if (like == Alike::kNone || like == node) return kNone;
    const size_t at = chosen_at_[base_.step_of[like]];
    if (at == kNone || chosen_[at].now.node != like) return kNone;
    return same_epilogue(step, chosen_[at].now, sizes, graph) ? at : kNone;
  }

  // Whether both products run the same program, and at the same place of it.
  static bool same_epilogue(const Step& a, const Step& b, const Resizing& sizes,
                            const Graph& graph) {
    if (!a.epilogue || !b.epilogue) return !a.epilogue && !b.epilogue;
    const uint32_t like = sizes.like(a.epilogue->node);
    const auto& in_a = graph.node(a.epilogue->node).inputs;
    const auto& in_b = graph.node(b.epilogue->node).inputs;
    return like != Alike::kNone && like == sizes.like(b.epilogue->node) &&
           std::equal(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                      [&](const Outlet x, const Outlet y) {
                        return (x.node == a.node) == (y.node == b.node);
                      });
  }

  // Room that a larger run was given, or was refused, is not this one's.
  bool too_large(const Layout& layout, const Graph& graph) const {
    const size_t outputs = bytes_of_outputs(graph);
    const auto exceeds = [&](size_t limit) {
      return layout.arena_bytes > limit || outputs > limit - layout.arena_bytes;
    };
    return exceeds(std::min(most_bytes_, kFewBytes)) && exceeds(memory_limit(graph, most_bytes_));
  }

  void put(Plan& plan, uint32_t s, Step step) const {
    if (base_.layout->views[s]) return;
    step.scratch_offset = base_.layout->scratch[s].offset;
    plan.steps[base_.place_of_step[s]] = std::move(step);
  }

  // Where the chosen steps are among those that run.
  std::vector<uint32_t> placed() const {
    std::vector<uint32_t> steps;
    for (const Chosen& one : chosen_) {
      if (!base_.layout->views[one.step]) steps.push_back(base_.place_of_step[one.step]);
    }
    std::sort(steps.begin(), steps.end());
    return steps;
  }

  Base& base_;
  const size_t most_bytes_;
  std::vector<Chosen> chosen_;
  std::vector<size_t> chosen_at_;  // by step of the base
};

}  // namespace

Base::Base(const Graph& rewritten, const Bindings& bindings, Trace made, Plan plan, Layout laid_out,
           size_t most_bytes)
    : trace(std::move(made)),
      unplaced(std::move(plan)),
      needed(needed_entries(trace)),
      all_small(wires_fit(unplaced.graph, std::min(most_bytes, kFewBytes)).ok()),
      alike(unplaced.graph),
      formulas(rewritten, trace, bindings, unplaced.graph, alike) {
  const Graph& graph = unplaced.graph;
  std::vector<uint32_t> made_by(graph.size(), 0);
  for (uint32_t id = 0; id < trace.moved.size(); ++id) {
    if (trace.moved[id] != UINT32_MAX) made_by[trace.moved[id]] = id;
  }
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const auto kind = graph.node(id).kind;
    if (kind == typed::Node::Kind::source) sources.push_back(id);
    if (kind == typed::Node::Kind::constant) folded.emplace_back(id, made_by[id]);
    if (kind != typed::Node::Kind::op || graph.node(id).op().taken == nullptr) continue;
    const auto outputs = lasting_outputs(graph.node(id).use);
    if (!outputs.empty()) branches.emplace(id, Branches(graph.node(id), outputs, formulas));
  }
  step_of.resize(graph.size(), UINT32_MAX);
  for (uint32_t s = 0; s < unplaced.steps.size(); ++s) {
    step_of[unplaced.steps[s].node] = s;
    step_of[result_of(unplaced.steps[s])] = s;
  }
  use(std::move(laid_out));
}

std::vector<uint32_t> Base::steps_of(std::span<const uint32_t> nodes) const {
  std::vector<uint32_t> steps;
  std::vector<bool> seen(unplaced.steps.size(), false);
  for (const uint32_t id : nodes) {
    const uint32_t s = step_of[id];
    if (s == UINT32_MAX || seen[s]) continue;
    seen[s] = true;
    steps.push_back(s);
  }
  return steps;
}

void Base::use(Layout laid_out) {
  course = nullptr;
  may_have_course = true;
  layout = std::make_shared<const Layout>(std::move(laid_out));
  place_of_step.clear();
  uint32_t placed = 0;
  for (const bool view : layout->views) place_of_step.push_back(view ? placed : placed++);
}

namespace {

// Puts a new plan on the base's course, or sets another one where two plans in a row were not on
// it.
void find_course(Base& base, const Resizing& sizes, Plan& plan) {
  plan.course = nullptr;
  if (!sizes.by_numbers() || !base.may_have_course) return;
  constexpr int kMostMissed = 2;
  const bool is_on = base.course && base.course->leads_to(base, sizes.values());
  if (!is_on && base.course && ++base.missed < kMostMissed) return;
  base.missed = 0;
  if (!is_on) {
    const auto course = std::make_shared<Course>(base, sizes, plan);
    base.may_have_course = course->is_usable();
    base.course = base.may_have_course ? course : nullptr;
  }
  if (base.course) Course::join(base.course, base, sizes.values(), plan);
}

// The plan made as if none had been for such sizes before.
Result<std::optional<Plan>> grown_by_nodes(Base& base, Resizing sizes, const OpenInputs& inputs,
                                           const Bindings& bindings, const Folded& folded,
                                           Pool& pool, size_t most_bytes,
                                           std::optional<Plan> spare) {
  std::vector<uint32_t> before;
  if (spare) before = std::move(spare->renewed);
  Graph graph = spare ? std::move(spare->graph) : base.unplaced.graph;
  SDX_ASSIGN(const bool same_nodes, sizes.run(inputs, bindings, folded, before, graph));
  if (!same_nodes) return std::optional<Plan>();
  SDX_TRY(base.all_small ? wires_fit(graph, sizes.distinct(), most_bytes)
                         : wires_fit(graph, most_bytes));

  Grower grower(base, most_bytes);
  if (!grower.choose(graph, sizes, pool)) return std::optional<Plan>();
  const bool fits = grower.layout_fits(graph);
  std::optional<Plan> made = std::move(spare);
  if (!made || !fits) {
    made = grower.whole(std::move(graph), fits, sizes.changed());
  } else {
    made->graph = std::move(graph);
    made->renewed = sizes.changed();
    grower.patch(*made, before);
  }
  find_course(base, sizes, *made);
  return made;
}

}  // namespace

Result<std::optional<Plan>> grown(Base& base, const std::function<OpenInputs()>& open_inputs,
                                  const Bindings& bindings, Pool& pool, size_t most_bytes,
                                  std::optional<Plan> spare) {
  Formulas::Values values = base.formulas.values(bindings);
  OpenInputs inputs;
  if (values.empty() || !base.formulas.all_inputs() || !base.needed.empty()) inputs = open_inputs();
  Folded folded(base.trace, base.needed);
  for (const auto& [i, fact] : inputs) folded.input(base.trace.made.inputs()[i], fact);
  SDX_ASSIGN(const bool sizes_only, folded.walk());
  if (!sizes_only) return std::optional<Plan>();
  if (spare && spare->course && spare->course == base.course && !folded.any() &&
      base.course->leads_to(base, values) &&
      base.course->follow(base, values, most_bytes, pool, *spare)) {
    return spare;
  }
  return grown_by_nodes(base, Resizing(base, std::move(values)), inputs, bindings, folded, pool,
                        most_bytes, std::move(spare));
}

}  // namespace sdx::plan
