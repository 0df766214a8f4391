// Whether a layout that was made for other sizes still holds: each step is asked again what the
// layout took for granted.
#include "plan/memory.h"

namespace sdx::plan {

using typed::Outlet;

namespace {

// What the layout took for granted of one step, asked again at other sizes.
class Fitting {
 public:
  Fitting(const Layout& layout, const Plan& plan) : layout_(layout), plan_(plan) {}

  bool step(size_t s) const {
    const Step& step = plan_.steps[s];
    if (layout_.views[s]) return view(step);
    if (step.scratch_bytes > layout_.scratch[s].capacity) return false;
    const uint32_t result = plan_.result_of(step);
    const typed::Node& node = plan_.graph.node(result);
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.outputs[slot].present() && !holds({result, slot})) return false;
    }
    return step.late || step.epilogue != nullptr || (in_place(step) && joined(step));
  }

 private:
  const Layout::Wire& wire(Outlet outlet) const { return layout_.wires[outlet.node][outlet.slot]; }

  bool holds(Outlet outlet) const {
    const Layout::Wire& at = wire(outlet);
    const Layout::Root& root = layout_.roots[at.root];
    const size_t end = at.offset + bytes_of(plan_.graph.fact(outlet));
    if (root.kind == Place::Kind::arena) return end <= root.capacity;
    if (root.kind != Place::Kind::output) return true;
    return end <= bytes_of(plan_.graph.fact(plan_.graph.outputs()[root.index].outlet));
  }

  bool view(const Step& step) const {
    const typed::Node& node = plan_.graph.node(step.node);
    const Facts in = plan_.graph.facts(node.inputs);
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) continue;
      const auto offset = node.op().alias(node.resolved.get(), call, slot);
      if (!offset || wire(node.inputs[0]).offset + *offset != wire({step.node, slot}).offset ||
          !holds({step.node, slot})) {
        return false;
      }
    }
    return true;
  }

  // Output 0 in the memory of an input: element by element.
  bool in_place(const Step& step) const {
    const typed::Node& node = plan_.graph.node(step.node);
    if (!node.op().inplace) return true;
    const Outlet out{step.node, 0};
    for (const Outlet input : node.inputs) {
      if (!input.present() || wire(input).root != wire(out).root) continue;
      const Fact &from = plan_.graph.fact(input), &to = plan_.graph.fact(out);
      if (from.type != to.type || from.dims() != to.dims()) return false;
    }
    return true;
  }

  // Inputs that were computed inside of the result.
  bool joined(const Step& step) const {
    const typed::Node& node = plan_.graph.node(step.node);
    if (node.op().joins == nullptr) return true;
    const Layout::Wire& into = wire({step.node, 0});
    const Facts in = plan_.graph.facts(node.inputs);
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present() || wire(node.inputs[i]).root != into.root) continue;
      const auto at = node.op().joins(node.resolved.get(), call, i);
      if (!at || into.offset + *at != wire(node.inputs[i]).offset) return false;
    }
    return true;
  }

  const Layout& layout_;
  const Plan& plan_;
};

}  // namespace

bool fits(const Layout& layout, const Plan& plan, const std::vector<bool>& changed) {
  const Fitting fitting(layout, plan);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const bool asked = changed[step.node] || (step.epilogue && changed[step.epilogue->node]);
    if (asked && !fitting.step(s)) return false;
  }
  return true;
}

}  // namespace sdx::plan
