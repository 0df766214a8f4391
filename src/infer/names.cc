#include "infer/names.h"

#include <algorithm>
#include <set>

namespace sdx::infer {

void free_names(const model::Graph& graph, std::vector<std::string>& into) {
  std::vector<std::string_view> names;
  model::free_names(graph, names);
  for (const std::string_view name : names) {
    if (!name.empty() && std::find(into.begin(), into.end(), name) == into.end())
      into.emplace_back(name);
  }
}

void referred(const model::Graph& graph, std::vector<std::string>& into) {
  for (const model::Node& node : graph.node) {
    for (const model::Attribute& attribute : node.attribute) {
      if (!attribute.ref_attr_name.empty()) into.push_back(attribute.ref_attr_name);
      if (attribute.g) referred(*attribute.g, into);
    }
  }
}

std::vector<bool> nodes_between(const std::vector<model::Node>& list, size_t end,
                                const std::vector<std::string>& independent, const std::string& y,
                                std::vector<std::string>& given) {
  std::vector<bool> part(list.size(), false);
  const std::set<std::string> stop(independent.begin(), independent.end());
  std::set<std::string> needed;
  const auto need = [&](const std::string& name) {
    if (!name.empty() && !stop.contains(name)) needed.insert(name);
  };
  need(y);
  for (size_t i = end; i-- > 0;) {
    const model::Node& node = list[i];
    for (const std::string& name : node.output) part[i] = part[i] || needed.erase(name) > 0;
    if (!part[i]) continue;
    for (const std::string_view name : model::names_used(node)) need(std::string(name));
  }
  given.insert(given.end(), needed.begin(), needed.end());
  return part;
}

}  // namespace sdx::infer
