// The ONNX listing of a model: its graph as written, one line per node.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "fact/fact.h"
#include "model/model.h"

namespace sdx::cli {

// Types by the name of a value, shown after the nodes that make them; may be empty.
using Types = std::map<std::string, Fact, std::less<>>;
// Those of subgraphs.
using BodyTypes = std::map<const model::Graph*, Types>;

// "graph Test (\n  %I1[FLOAT, ?x?]\n) {\n  %O1 = Add(%I1, %I2)\n  return %O1\n}\n"; functions
// follow the graph.
std::string listing(const model::Model& model, const Types& types = {},
                    const BodyTypes& bodies = {});

// Every node of the model: of its graph, its functions and their subgraphs.
template <class Visit>
void each_node(const std::vector<model::Node>& nodes, Visit&& visit) {
  for (const model::Node& node : nodes) {
    visit(node);
    for (const model::Attribute& attribute : node.attribute) {
      if (attribute.g) each_node(attribute.g->node, visit);
      for (const model::Graph& graph : attribute.graphs) each_node(graph.node, visit);
    }
  }
}
template <class Visit>
void each_node(const model::Model& model, Visit&& visit) {
  if (model.graph) each_node(model.graph->node, visit);
  for (const model::Function& function : model.functions) each_node(function.node, visit);
}

}  // namespace sdx::cli
