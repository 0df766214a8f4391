// Nodes in an order in which each comes after those it uses.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/keyed.h"
#include "check/accept/mends.h"
#include "model/names.h"

namespace sdx::check::accept {

bool sort_nodes(std::vector<model::Node>& nodes) {
  KeyedMap<std::string_view, size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output) {
      if (!output.empty()) producer.emplace(output, i);
    }
  }
  std::vector<size_t> missing(nodes.size(), 0);
  std::vector<std::vector<size_t>> readers(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view name : model::names_used(nodes[i])) {
      const auto at = producer.find(name);
      if (at == producer.end()) continue;
      ++missing[i];
      readers[at->second].push_back(i);
    }
  }
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.insert(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const size_t reader : readers[next]) {
      if (--missing[reader] == 0) ready.insert(reader);
    }
  }
  if (order.size() != nodes.size() || std::is_sorted(order.begin(), order.end())) return false;
  std::vector<model::Node> sorted;
  for (const size_t i : order) sorted.push_back(std::move(nodes[i]));
  nodes = std::move(sorted);
  return true;
}

void sort_all(model::Model& model, const Report&, Journal& journal) {
  each_graph(model, [&](model::Graph& graph) {
    if (!sort_nodes(graph.node)) return;
    journal.push_back(
        fmt::format("the nodes of graph {} stand in topological order", in_quotes(graph.name)));
  });
  for (model::Function& function : model.functions) {
    if (!sort_nodes(function.node)) continue;
    journal.push_back(fmt::format("the nodes of function {} stand in topological order",
                                  in_quotes(function.name)));
  }
}

}  // namespace sdx::check::accept
