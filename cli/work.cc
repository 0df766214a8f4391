#include "work.h"

#include <algorithm>

namespace sdx::cli {

uint64_t multiply_adds(const typed::Graph& graph, size_t& open) {
  uint64_t total = 0;
  open = 0;
  for (const typed::Node& node : graph.nodes()) {
    if (node.kind != typed::Node::Kind::op || node.op().multiply_adds == nullptr) continue;
    Facts in;
    for (const typed::Outlet input : node.inputs) in.push_back(graph.fact(input));
    const auto known = [](const Fact& fact) { return !fact.present() || fact.is_concrete(); };
    if (!std::all_of(in.begin(), in.end(), known) ||
        !std::all_of(node.outputs.begin(), node.outputs.end(), known)) {
      ++open;
      continue;
    }
    total += node.op().multiply_adds(node.resolved.get(), {in, node.outputs, Isa::portable, 1});
  }
  return total;
}

std::string grouped(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

}  // namespace sdx::cli
