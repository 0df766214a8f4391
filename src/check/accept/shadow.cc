// Names of a subgraph that the graphs around it have too. The inner definition is the one that
// inner nodes mean, so it gets a name that nothing else has.
#include <fmt/format.h>

#include <map>
#include <set>

#include "check/accept/mends.h"
#include "model/names.h"

namespace sdx::check::accept {
namespace {

using model::Graph;
using model::Node;
using Names = std::set<std::string, std::less<>>;
using Renamed = std::map<std::string, std::string, std::less<>>;

void add_outputs(const std::vector<Node>& nodes, Names& names) {
  for (const Node& node : nodes) names.insert(node.output.begin(), node.output.end());
}

Names defined_in(const Graph& graph) {
  Names names;
  for (const model::ValueInfo& input : graph.input) names.insert(input.name);
  for (const model::TensorData& init : graph.initializer) names.insert(init.name);
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) names.insert(init.values->name);
  }
  add_outputs(graph.node, names);
  names.erase("");
  return names;
}

// Whether a node reads the name before another one makes it: then it is open which value is meant.
bool read_early(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.node) {
    for (const std::string_view used : model::names_used(node)) {
      if (used == name) return true;
    }
    for (const std::string& output : node.output) {
      if (output == name) return false;
    }
  }
  return false;
}

class Renamer {
 public:
  Renamer(model::Model& model, Journal& journal) : journal_(journal), fresh_(model) {}

  void nodes(std::vector<Node>& nodes, const Names& visible, const Renamed& renamed) {
    for (Node& node : nodes) {
      model::each_subgraph(node, [&](Graph& inner) { subgraph(inner, visible, renamed); });
    }
  }

 private:
  void subgraph(Graph& graph, Names visible, Renamed renamed) {
    const Names own = defined_in(graph);
    Names made;
    add_outputs(graph.node, made);
    for (const std::string& name : own) {
      renamed.erase(name);
      if (!visible.contains(name) || (made.contains(name) && read_early(graph, name))) continue;
      renamed[name] = fresh_.name(name);
      journal_.push_back(fmt::format("the value {} of graph {} is now {}", in_quotes(name),
                                     in_quotes(graph.name), in_quotes(renamed[name])));
    }
    visible.insert(own.begin(), own.end());
    nodes(graph.node, visible, renamed);
    rename(graph, renamed);
  }

  static void rename(Graph& graph, const Renamed& renamed) {
    const auto change = [&](std::string& name) {
      if (const auto at = renamed.find(name); at != renamed.end()) name = at->second;
    };
    for (auto* list : {&graph.input, &graph.output, &graph.value_info}) {
      for (model::ValueInfo& info : *list) change(info.name);
    }
    for (model::TensorData& init : graph.initializer) change(init.name);
    for (model::SparseTensorData& init : graph.sparse_initializer) {
      if (init.values) change(init.values->name);
    }
    for (model::TensorAnnotation& annotation : graph.quantization_annotation) {
      change(annotation.tensor_name);
      for (model::StringEntry& entry : annotation.quant_parameter_tensor_names) change(entry.value);
    }
    for (Node& node : graph.node) {
      for (std::string& input : node.input) change(input);
      for (std::string& output : node.output) change(output);
      for (model::NodeDeviceConfiguration& device : node.device_configurations) {
        for (model::ShardingSpec& spec : device.sharding_spec) change(spec.tensor_name);
      }
    }
  }

  Journal& journal_;
  FreshNames fresh_;
};

}  // namespace

FreshNames::FreshNames(model::Model& model) {
  each_graph(model, [&](Graph& graph) { taken_.merge(defined_in(graph)); });
  for (const model::Function& function : model.functions) {
    taken_.insert(function.input.begin(), function.input.end());
    add_outputs(function.node, taken_);
  }
}

std::string FreshNames::name(const std::string& like) {
  std::string made;
  for (size_t i = 2; made.empty() || !taken_.insert(made).second; ++i) {
    made = fmt::format("{}_{}", like, i);
  }
  return made;
}

void rename_shadows(model::Model& model, const Report&, Journal& journal) {
  Renamer renamer(model, journal);
  if (model.graph) renamer.nodes(model.graph->node, defined_in(*model.graph), {});
  for (model::Function& function : model.functions) {
    Names visible(function.input.begin(), function.input.end());
    add_outputs(function.node, visible);
    visible.erase("");
    renamer.nodes(function.node, visible, {});
  }
}

}  // namespace sdx::check::accept
