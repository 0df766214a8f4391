#include "check/supported.h"

#include <map>

#include "model/functions.h"
#include "model/names.h"
#include "ops/list.h"

namespace sdx::check {
namespace {

// Every node of the list and its subgraphs, with the place where it stands.
template <class Visit>
void each_placed(const std::vector<model::Node>& nodes, const model::Opsets& opsets,
                 const std::string& path, const Visit& visit) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string here = fmt::format("{}, node {} \"{}\"", path, i, nodes[i].name);
    visit(nodes[i], opsets, here);
    model::each_subgraph(
        nodes[i], [&](const model::Graph& graph) { each_placed(graph.node, opsets, here, visit); });
  }
}

}  // namespace

Error not_supported(std::string_view domain, std::string_view op) {
  return fail("SDX-G0003", "operator {}.{} is not supported", model::shown(domain), op);
}

Status all_supported(const model::Model& model) {
  constexpr size_t kMostListed = 20;
  std::map<std::string, std::pair<size_t, std::string>> missing;  // what -> how often, first place
  const model::Functions functions(model);
  const auto visit = [&](const model::Node& node, const model::Opsets& opsets,
                         const std::string& here) {
    if (functions.find(node) != nullptr) return;
    const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
    const auto version = opsets.find(node.domain);
    const Op* op = find_op(node.domain, node.op_type);
    if (version == opsets.end()) return;  // reported where the node is made
    std::string what;
    if (op == nullptr) {
      what = fmt::format("{}.{} (version {})", domain, node.op_type, version->second);
    } else if (op->at(int(version->second)) == nullptr) {
      what = fmt::format("{}.{} in version {}: first defined in version {}", domain, node.op_type,
                         version->second,
                         op->signatures().empty() ? 0 : op->signatures().front().since);
    } else {
      return;
    }
    auto& [count, place] = missing[what];
    if (count++ == 0) place = here;
  };
  if (model.graph) {
    each_placed(model.graph->node, model::opsets_of(model.opset_import),
                fmt::format("graph \"{}\"", model.graph->name), visit);
  }
  for (const model::Function& function : model.functions) {
    each_placed(function.node, model::opsets_of(function.opset_import),
                fmt::format("function {}", function.name), visit);
  }
  if (missing.empty()) return ok();
  std::string list;
  for (const auto& [what, at] : missing)
    list += fmt::format("{}{}", list.empty() ? "" : "; ", what);
  Error error = fail("SDX-G0003", "not supported: {}", list);
  for (const auto& [what, at] : missing) {
    if (error.where.size() == kMostListed) break;
    error.where.push_back(fmt::format("{}: {} time{}, first at {}", what, at.first,
                                      at.first == 1 ? "" : "s", at.second));
  }
  return error;
}

}  // namespace sdx::check
