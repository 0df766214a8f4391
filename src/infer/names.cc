#include "infer/names.h"

#include <algorithm>
#include <set>

#include "infer/typing.h"
#include "model/library.h"
#include "ops/list.h"

namespace sdx::infer {

Opsets opsets_of(const std::vector<model::OpsetId>& imports) {
  Opsets opsets;
  for (const model::OpsetId& import : imports) {
    opsets[import.domain == "ai.onnx" ? "" : import.domain] = import.version;
    if (import.domain.empty() || import.domain == "ai.onnx") opsets["ai.onnx"] = import.version;
  }
  return opsets;
}

const model::Function* find_function(const model::Model& model, const model::Node& node) {
  for (const model::Function& function : model.functions) {
    if (function.name == node.op_type && function.domain == node.domain &&
        function.overload == node.overload) {
      return &function;
    }
  }
  return model::find_added_function(node);
}

namespace {

void free_names(const model::Graph& graph, std::set<std::string> defined,
                std::vector<std::string>& into) {
  const auto use = [&](const std::string& name) {
    if (name.empty() || defined.contains(name)) return;
    if (std::find(into.begin(), into.end(), name) == into.end()) into.push_back(name);
  };
  for (const model::ValueInfo& input : graph.input) defined.insert(input.name);
  for (const model::TensorData& init : graph.initializer) defined.insert(init.name);
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) defined.insert(init.values->name);
  }
  for (const model::Node& node : graph.node) {
    for (const std::string& name : node.input) use(name);
    for (const model::Attribute& attribute : node.attribute) {
      if (attribute.g) free_names(*attribute.g, defined, into);
    }
    for (const std::string& name : node.output) defined.insert(name);
  }
  for (const model::ValueInfo& output : graph.output) use(output.name);
}

// Every node of the model, its subgraphs and its functions, with the opsets that hold there.
template <class F>
void each_node(const model::Model& model, const std::vector<model::Node>& nodes,
               const Opsets& opsets, const std::string& path, F&& visit) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string here = fmt::format("{}, node {} \"{}\"", path, i, nodes[i].name);
    visit(nodes[i], opsets, here);
    for (const model::Attribute& attribute : nodes[i].attribute) {
      if (attribute.g) each_node(model, attribute.g->node, opsets, here, visit);
    }
  }
}

}  // namespace

void free_names(const model::Graph& graph, std::vector<std::string>& into) {
  free_names(graph, {}, into);
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
    std::vector<std::string> used = node.input;
    for (const model::Attribute& attribute : node.attribute) {
      if (attribute.g) free_names(*attribute.g, used);
    }
    for (const std::string& name : used) need(name);
  }
  given.insert(given.end(), needed.begin(), needed.end());
  return part;
}

Status all_supported(const model::Model& model) {
  constexpr size_t kMostListed = 20;
  std::map<std::string, std::pair<size_t, std::string>> missing;  // what -> how often, first place
  const auto visit = [&](const model::Node& node, const Opsets& opsets, const std::string& here) {
    if (find_function(model, node) != nullptr) return;
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
    each_node(model, model.graph->node, opsets_of(model.opset_import),
              fmt::format("graph \"{}\"", model.graph->name), visit);
  }
  for (const model::Function& function : model.functions) {
    each_node(model, function.node, opsets_of(function.opset_import),
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

}  // namespace sdx::infer
