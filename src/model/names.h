// Who means what by a name: imports of operator sets, functions, and the values that graphs define
// and use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace sdx::model {

// "" and "ai.onnx" are one domain: the first is how it is kept, the second how it is shown.
inline std::string_view canonical(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}
inline std::string_view shown(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

// Domain, in either spelling of ai.onnx, to version.
using Opsets = std::map<std::string, int64_t, std::less<>>;
Opsets opsets_of(const std::vector<OpsetId>& imports);

// "domain.name:overload", as far as it has them.
std::string name_of(const Function& function);

// visit(graph) for each subgraph of the node, but not for those within them.
template <class N, class Visit>
void each_subgraph(N& node, const Visit& visit) {
  for (auto& attribute : node.attribute) {
    if (attribute.g) visit(*attribute.g);
    for (auto& graph : attribute.graphs) visit(graph);
  }
}

// visit(node) for every node of the list and of all subgraphs in it.
template <class Visit>
void each_node(const std::vector<Node>& nodes, const Visit& visit) {
  for (const Node& node : nodes) {
    visit(node);
    each_subgraph(node, [&](const Graph& graph) { each_node(graph.node, visit); });
  }
}
// And for every node of the model: of its graph and of its functions.
template <class Visit>
void each_node(const Model& model, const Visit& visit) {
  if (model.graph) each_node(model.graph->node, visit);
  for (const Function& function : model.functions) each_node(function.node, visit);
}

// Names that nodes of a subgraph, or of one within it, use and nothing in it defines; in order of
// use, with repeats.
void free_names(const Graph& graph, std::vector<std::string_view>& into);
// The same for all of a node: its inputs, then what its subgraphs capture.
std::vector<std::string_view> names_used(const Node& node);

}  // namespace sdx::model
