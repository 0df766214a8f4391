#include "wires.h"

#include "bounds.h"
#include "words.h"

namespace sdx::cli {

std::vector<std::string> wires_of(const model::Model& model) {
  std::vector<std::string> names;
  if (!model.graph) return names;
  for (const model::Node& node : model.graph->node) {
    for (const std::string& name : node.output) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

Result<std::vector<NamedValue>> values_of_wires(const std::shared_ptr<const model::Model>& model,
                                                const CompileOptions& options,
                                                const std::vector<Value>& inputs,
                                                const std::vector<std::string>& wires) {
  SDX_ASSIGN(infer::Inferred known, inferred(model, options));
  const bool all = wires.empty();
  std::vector<typed::Output> added;
  for (const std::string& name : all ? wires_of(*model) : wires) {
    const auto at = known.wires().find(name);
    const bool here = at != known.wires().end() && known.graph().fact(at->second).present();
    if (here) {
      added.push_back({name, at->second});
    } else if (!all) {
      return not_among("SDX-C0036", "the model has no value", name, wires_of(*model));
    }
  }
  typed::Graph graph = std::move(known).typed();
  std::vector<bool> wanted(graph.outputs().size(), false);
  const size_t first = wanted.size();
  for (const typed::Output& wire : added) graph.output(wire.name, wire.outlet);
  wanted.resize(graph.outputs().size(), true);
  SDX_ASSIGN(const auto compiled, compile(graph, options));
  run::RunOptions limits;
  limits.deadline = deadline();
  limits.wanted = &wanted;
  SDX_ASSIGN(std::vector<Value> values, run::Session(compiled).run(inputs, limits));
  std::vector<NamedValue> named;
  for (size_t i = 0; i < added.size(); ++i)
    named.push_back({added[i].name, std::move(values[first + i])});
  return named;
}

}  // namespace sdx::cli
