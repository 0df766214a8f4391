#include "model/names.h"

#include <fmt/format.h>

#include "base/keyed.h"

namespace sdx::model {

Opsets opsets_of(const std::vector<OpsetId>& imports) {
  Opsets opsets;
  for (const OpsetId& import : imports) {
    opsets[std::string(canonical(import.domain))] = import.version;
    if (canonical(import.domain).empty()) opsets["ai.onnx"] = import.version;
  }
  return opsets;
}

std::string name_of(const Function& function) {
  std::string name = function.domain.empty() ? function.name
                                             : fmt::format("{}.{}", function.domain, function.name);
  return function.overload.empty() ? name : fmt::format("{}:{}", name, function.overload);
}

void free_names(const Graph& graph, std::vector<std::string_view>& into) {
  KeyedSet<std::string_view> defined;
  for (const ValueInfo& input : graph.input) defined.insert(input.name);
  for (const TensorData& init : graph.initializer) defined.insert(init.name);
  for (const SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) defined.insert(init.values->name);
  }
  for (const Node& node : graph.node) defined.insert(node.output.begin(), node.output.end());
  for (const Node& node : graph.node) {
    for (const std::string_view name : names_used(node)) {
      if (!defined.contains(name)) into.push_back(name);
    }
  }
  for (const ValueInfo& output : graph.output) {
    if (!defined.contains(output.name)) into.push_back(output.name);
  }
}

std::vector<std::string_view> names_used(const Node& node) {
  std::vector<std::string_view> names;
  for (const std::string& name : node.input) {
    if (!name.empty()) names.push_back(name);
  }
  each_subgraph(node, [&](const Graph& graph) { free_names(graph, names); });
  return names;
}

}  // namespace sdx::model
