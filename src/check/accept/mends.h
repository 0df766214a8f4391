// The mends of readings.cc: each makes a model keep a rule, in the only way that keeps its meaning.
#pragma once

#include <set>

#include "check/accept/accept.h"

namespace sdx::check::accept {

// visit(graph) for the main graph, every subgraph and those of functions' nodes, the inner ones
// first.
template <class Visit>
void each_graph(std::vector<model::Node>& nodes, const Visit& visit);
template <class Visit>
void each_graph(model::Graph& graph, const Visit& visit) {
  each_graph(graph.node, visit);
  visit(graph);
}
template <class Visit>
void each_graph(std::vector<model::Node>& nodes, const Visit& visit) {
  for (model::Node& node : nodes) {
    for (model::Attribute& attribute : node.attribute) {
      if (attribute.g) each_graph(*attribute.g, visit);
      for (model::Graph& graph : attribute.graphs) each_graph(graph, visit);
    }
  }
}
template <class Visit>
void each_graph(model::Model& model, const Visit& visit) {
  if (model.graph) each_graph(*model.graph, visit);
  for (model::Function& function : model.functions) each_graph(function.node, visit);
}

// Names that no value of the model has.
class FreshNames {
 public:
  explicit FreshNames(model::Model& model);
  std::string name(const std::string& like);  // "x_2" for "x", if nothing else is called so

 private:
  std::set<std::string, std::less<>> taken_;
};

// A stable order: each time the first node in the file whose inputs are all there. False if they
// stood so, or if there is a cycle.
bool sort_nodes(std::vector<model::Node>& nodes);

// mends.cc
void raise_ir_version(model::Model& model, const Report& found, Journal& journal);
void add_imports(model::Model& model, const Report& found, Journal& journal);
void drop_void_imports(model::Model& model, const Report& found, Journal& journal);
void keep_first_metadata(model::Model& model, const Report& found, Journal& journal);
void name_graphs(model::Model& model, const Report& found, Journal& journal);
void open_dimensions(model::Model& model, const Report& found, Journal& journal);
void drop_claims(model::Model& model, const Report& found, Journal& journal);
void drop_idle_nodes(model::Model& model, const Report& found, Journal& journal);
void drop_unknown_attributes(model::Model& model, const Report& found, Journal& journal);
void drop_annotations(model::Model& model, const Report& found, Journal& journal);
void drop_training(model::Model& model, const Report& found, Journal& journal);
void drop_devices(model::Model& model, const Report& found, Journal& journal);
// repeats.cc
void keep_last_import(model::Model& model, const Report& found, Journal& journal);
void keep_last_constants(model::Model& model, const Report& found, Journal& journal);
void give_outputs_twice(model::Model& model, const Report& found, Journal& journal);
// loops.cc
void take_vectors_of_one(model::Model& model, const Report& found, Journal& journal);
// sort.cc
void sort_all(model::Model& model, const Report& found, Journal& journal);
// shadow.cc
void rename_shadows(model::Model& model, const Report& found, Journal& journal);

}  // namespace sdx::check::accept
