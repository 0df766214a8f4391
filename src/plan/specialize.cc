#include "plan/plan.h"

namespace sdx::plan {

using typed::Graph;
using typed::Outlet;

Result<Graph> specialize(const Graph& graph, const Bindings& bindings) {
  Graph concrete;
  concrete.name = graph.name;
  std::vector<std::vector<Outlet>> moved(graph.size());
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    if (node.kind == typed::Node::Kind::source) {
      Fact fact = node.outputs[0];
      if (fact.shape) {
        for (Dim& dim : *fact.shape) dim = dim.bind(bindings);
      }
      moved[id] = {concrete.source(node.use.name, std::move(fact))};
    } else if (node.kind == typed::Node::Kind::constant) {
      moved[id] = {concrete.constant(*node.outputs[0].value, node.use.name)};
    } else {
      std::vector<Outlet> inputs;
      for (const Outlet input : node.inputs) {
        inputs.push_back(input.present() ? moved[input.node][input.slot] : Outlet{});
      }
      SDX_ASSIGN(moved[id], concrete.add(node.use, std::move(inputs), node.origin));
    }
  }
  for (const typed::Output& output : graph.outputs()) {
    concrete.output(output.name, moved[output.outlet.node][output.outlet.slot]);
  }
  return concrete.without_dead();
}

}  // namespace sdx::plan
