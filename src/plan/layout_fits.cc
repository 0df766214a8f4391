// Whether a layout that was made for other sizes still holds: each step is asked again what the
// layout took for granted.
#include <algorithm>

#include "plan/memory.h"

namespace sdx::plan {

using typed::Outlet;

namespace {

// What the layout took for granted of one step, asked again at other sizes.
class Fitting {
 public:
  Fitting(const Layout& layout, const typed::Graph& graph, const Options& options)
      : layout_(layout), graph_(graph), options_(options) {}

  bool step(size_t s, const Step& step, const Step* like) const {
    if (layout_.views[s]) return like != nullptr ? view_like(step, *like) : view(step);
    if (step.scratch_bytes > layout_.scratch[s].capacity) return false;
    const uint32_t result = result_of(step);
    const typed::Node& node = graph_.node(result);
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.outputs[slot].present() && !holds({result, slot})) return false;
    }
    if (step.late || step.epilogue != nullptr) return true;
    return in_place(step) && ((like != nullptr && joined_like(step, *like)) || joined(step));
  }

 private:
  const Layout::Wire& wire(Outlet outlet) const { return layout_.wires[outlet.node][outlet.slot]; }

  bool holds(Outlet outlet) const {
    const Layout::Wire& at = wire(outlet);
    const Layout::Root& root = layout_.roots[at.root];
    const size_t end = at.offset + bytes_of(graph_.fact(outlet));
    if (root.kind == Place::Kind::arena) return end <= root.capacity;
    if (root.kind != Place::Kind::output) return true;
    return end <= bytes_of(graph_.fact(graph_.outputs()[root.index].outlet));
  }

  bool view(const Step& step) const {
    const typed::Node& node = graph_.node(step.node);
    const Facts in = graph_.facts(node.inputs);
    const Call call{in, node.outputs, options_.isa, options_.threads};
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

  // What begins where in a node that does the same begins there in this one.
  bool view_like(const Step& step, const Step& like) const {
    const typed::Node &node = graph_.node(step.node), &other = graph_.node(like.node);
    const size_t here = wire(node.inputs[0]).offset, there = wire(other.inputs[0]).offset;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) continue;
      const Outlet mine{step.node, slot}, its{like.node, slot};
      if (wire(mine).offset - here != wire(its).offset - there || !holds(mine)) return false;
    }
    return true;
  }

  // Output 0 in the memory of an input: element by element.
  bool in_place(const Step& step) const {
    const typed::Node& node = graph_.node(step.node);
    if (!node.op().inplace) return true;
    const Outlet out{step.node, 0};
    for (const Outlet input : node.inputs) {
      if (!input.present() || wire(input).root != wire(out).root) continue;
      const Fact &from = graph_.fact(input), &to = graph_.fact(out);
      if (from.type != to.type || *from.shape != *to.shape) return false;
    }
    return true;
  }

  // The same inputs at the same places inside of the result as in a node that does the same.
  bool joined_like(const Step& step, const Step& like) const {
    const typed::Node &node = graph_.node(step.node), &other = graph_.node(like.node);
    if (node.op().joins == nullptr) return true;
    const Layout::Wire &into = wire({step.node, 0}), &there = wire({like.node, 0});
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present() || wire(node.inputs[i]).root != into.root) continue;
      const Layout::Wire& its = wire(other.inputs[i]);
      if (its.root != there.root ||
          its.offset - there.offset != wire(node.inputs[i]).offset - into.offset)
        return false;
    }
    return true;
  }

  // Inputs that were computed inside of the result.
  bool joined(const Step& step) const {
    const typed::Node& node = graph_.node(step.node);
    if (node.op().joins == nullptr) return true;
    const Layout::Wire& into = wire({step.node, 0});
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](const Outlet input) {
          return input.present() && wire(input).root == into.root;
        })) {
      return true;
    }
    const Facts in = graph_.facts(node.inputs);
    const Call call{in, node.outputs, options_.isa, options_.threads};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present() || wire(node.inputs[i]).root != into.root) continue;
      const auto at = node.op().joins(node.resolved.get(), call, i);
      if (!at || into.offset + *at != wire(node.inputs[i]).offset) return false;
    }
    return true;
  }

  const Layout& layout_;
  const typed::Graph& graph_;
  const Options& options_;
};

}  // namespace

bool fits(const Layout& layout, size_t s, const Step& step, const typed::Graph& graph,
          const Options& options, const Step* like) {
  return Fitting(layout, graph, options).step(s, step, like);
}

}  // namespace sdx::plan
