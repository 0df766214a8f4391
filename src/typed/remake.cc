#include "typed/remake.h"

namespace sdx::typed {

Remake::Remake(const Graph& old_graph, std::string_view pass) : old(old_graph), pass_(pass) {
  made.name = old.name;
  made.assumptions = old.assumptions;
}

Remake::Place::Place(Remake& remake, Chapter::Old from)
    : remake_(remake), section_(int(remake.sections_.size())), outer_(remake.open_) {
  const auto first = uint32_t(remake.made.size());
  remake.sections_.push_back({from, first, first, {}, outer_});
  remake.open_ = section_;
}

Remake::Place::~Place() {
  remake_.sections_[size_t(section_)].last = uint32_t(remake_.made.size());
  remake_.open_ = outer_;
}

uint32_t Remake::also_from(Graph graph) {
  others_.push_back(std::move(graph));
  return uint32_t(others_.size());
}

Result<Graph> made_again(const Graph& graph) {
  Remake remake(graph, "made_again");
  std::vector<std::vector<Outlet>> wires(graph.size());
  const auto now = [&](Outlet old) { return old.present() ? wires[old.node][old.slot] : old; };
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const Remake::Place here = remake.at(id);
    std::vector<Outlet> inputs;
    for (const Outlet input : node.inputs) inputs.push_back(now(input));
    if (node.kind == Node::Kind::op) {
      SDX_ASSIGN(wires[id], remake.made.add(node.use, std::move(inputs), node.origin));
    } else {
      SDX_ASSIGN(wires[id], remake.copy(id, {}));
    }
  }
  for (const Output& output : graph.outputs()) remake.made.output(output.name, now(output.outlet));
  return remake.finish();
}

Graph Remake::finish() {
  std::vector<uint32_t> moved;
  Graph kept = made.live_part(moved);
  if (old.journal == nullptr) return kept;
  std::vector<const Graph*> olds{&old};
  for (const Graph& graph : others_) olds.push_back(&graph);
  kept.journal = write_chapter(pass_, olds, sections_, moved, kept);
  return kept;
}

}  // namespace sdx::typed
