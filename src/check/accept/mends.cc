#include "check/accept/mends.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/checker.h"
#include "check/features.h"
#include "model/functions.h"
#include "model/names.h"
#include "ops/list.h"

namespace sdx::check::accept {
namespace {

bool broken(const Report& found, const Rule& rule) { return found.find(rule.code) != nullptr; }

model::OpsetId import_of(std::string_view domain, int64_t version) {
  model::OpsetId made;
  set(made, &model::OpsetId::domain, std::string(domain));
  set(made, &model::OpsetId::version, version);
  return made;
}

}  // namespace

void raise_ir_version(model::Model& model, const Report& found, Journal& journal) {
  const bool stated = has(model, &model::Model::ir_version);
  if (stated && model.ir_version < 1) return;
  int64_t least = std::max<int64_t>({1, model.ir_version, least_ir_version(model)});
  if (!model.opset_import.empty()) least = std::max<int64_t>(least, 3);
  if (!stated || broken(found, rule::initializer_not_input)) least = std::max<int64_t>(least, 4);
  if (stated && least == model.ir_version) return;
  // Before version 3 nothing is imported, which means version 1 of ai.onnx.
  if (least >= 3 && model.opset_import.empty()) {
    if (!stated) return;
    model.opset_import.push_back(import_of("", 1));
  }
  journal.push_back(stated ? fmt::format("ir_version is {} instead of {}", least, model.ir_version)
                           : fmt::format("ir_version is {}", least));
  set(model, &model::Model::ir_version, least);
}

namespace {

using Used = std::map<std::string, std::set<const model::Node*>, std::less<>>;  // by domain

Used not_imported(const std::vector<model::Node>& nodes, const std::vector<model::OpsetId>& list) {
  const Opsets imported = model::opsets_of(list);
  Used used;
  each_node(nodes, [&](const model::Node& node) {
    if (!imported.contains(node.domain)) used[std::string(canonical(node.domain))].insert(&node);
  });
  return used;
}

// The version in which all these nodes' operators mean what they mean in every other; 0: none.
int64_t only_version(const model::Functions& functions, const std::string& domain,
                     const std::set<const model::Node*>& nodes) {
  const KnownDomain* known = known_domain(domain);
  for (const model::Node* node : nodes) {
    if (functions.find(*node) != nullptr) continue;
    const Op* op = find_op(domain, node->op_type);
    if (known == nullptr || op == nullptr || op->signatures().size() != 1) return 0;
  }
  return known == nullptr ? 1 : known->newest;
}

}  // namespace

void add_imports(model::Model& model, const Report&, Journal& journal) {
  const model::Functions functions(model);
  const auto complete = [&](const std::vector<model::Node>& nodes,
                            std::vector<model::OpsetId>& imports, const std::string& who) {
    const Opsets whole = model::opsets_of(model.opset_import);
    std::vector<model::OpsetId> added;
    for (const auto& [domain, used] : not_imported(nodes, imports)) {
      const auto at = whole.find(domain);
      const int64_t version =
          at != whole.end() ? at->second : only_version(functions, domain, used);
      if (version == 0) continue;
      added.push_back(import_of(domain, version));
      journal.push_back(
          fmt::format("{} imports version {} of {}", who, version, in_quotes(shown(domain))));
    }
    imports.insert(imports.end(), added.begin(), added.end());
  };
  if (model.graph) complete(model.graph->node, model.opset_import, "the model");
  for (model::Function& function : model.functions) {
    complete(function.node, function.opset_import,
             fmt::format("function {}", in_quotes(function.name)));
  }
}

void drop_void_imports(model::Model& model, const Report&, Journal& journal) {
  const auto drop = [&](std::vector<model::OpsetId>& imports, const std::string& who) {
    std::set<std::string_view> published;
    for (const model::OpsetId& import : imports) {
      if (import.version > 0) published.insert(canonical(import.domain));
    }
    std::erase_if(imports, [&](const model::OpsetId& import) {
      if (import.version > 0 || !published.contains(canonical(import.domain))) return false;
      journal.push_back(fmt::format("{} no longer imports version {} of {}", who, import.version,
                                    in_quotes(shown(canonical(import.domain)))));
      return true;
    });
  };
  drop(model.opset_import, "the model");
  for (model::Function& function : model.functions)
    drop(function.opset_import, fmt::format("function {}", in_quotes(function.name)));
}

void keep_first_metadata(model::Model& model, const Report&, Journal& journal) {
  std::set<std::string> keys;
  const size_t gone = std::erase_if(model.metadata_props, [&](const model::StringEntry& entry) {
    return !keys.insert(entry.key).second;
  });
  if (gone > 0) journal.push_back(fmt::format("{} repeated keys of metadata are removed", gone));
}

void name_graphs(model::Model& model, const Report&, Journal& journal) {
  each_graph(model, [&](model::Graph& graph) {
    if (!graph.name.empty()) return;
    const bool main = model.graph && &graph == &*model.graph;
    set(graph, &model::Graph::name, main ? "main" : "body");
    journal.push_back(fmt::format("a graph without a name is now {}", in_quotes(graph.name)));
  });
}

namespace {

size_t open_negative(model::Type& type);

size_t open_negative(std::optional<model::Shape>& shape) {
  size_t opened = 0;
  if (!shape) return opened;
  for (model::Dimension& dim : shape->dim) {
    if (const int64_t* number = dim.number(); number == nullptr || *number >= 0) continue;
    dim.value = std::monostate();
    ++opened;
  }
  return opened;
}
size_t open_negative(model::Box<model::Type>& boxed) { return boxed ? open_negative(*boxed) : 0; }
size_t open_negative(model::Type& type) {
  return std::visit(
      []<class T>(T& held) -> size_t {
        if constexpr (requires { held.shape; }) {
          return open_negative(held.shape);
        } else if constexpr (requires { held.elem_type; }) {
          return open_negative(held.elem_type);
        } else if constexpr (requires { held.value_type; }) {
          return open_negative(held.value_type);
        } else {
          return 0;
        }
      },
      type.value);
}

}  // namespace

void open_dimensions(model::Model& model, const Report&, Journal& journal) {
  const auto open = [&](std::vector<model::ValueInfo>& infos) {
    for (model::ValueInfo& info : infos) {
      if (!info.type || open_negative(*info.type) == 0) continue;
      journal.push_back(
          fmt::format("sizes of {} that were negative are left open", in_quotes(info.name)));
    }
  };
  each_graph(model, [&](model::Graph& graph) {
    open(graph.input);
    open(graph.output);
    open(graph.value_info);
  });
  for (model::Function& function : model.functions) open(function.value_info);
}

void drop_claims(model::Model& model, const Report& found, Journal& journal) {
  std::set<std::string, std::less<>> stale;
  for (const Diagnostic& d : found.diagnostics) {
    const Reading* reading = reading_of(d);
    if (reading != nullptr && reading->mend == drop_claims) stale.insert(d.value);
  }
  const auto drop = [&](std::vector<model::ValueInfo>& infos) {
    std::erase_if(infos, [&](const model::ValueInfo& info) {
      if (!stale.contains(info.name)) return false;
      journal.push_back(fmt::format("value_info of {} is removed", in_quotes(info.name)));
      return true;
    });
  };
  each_graph(model, [&](model::Graph& graph) { drop(graph.value_info); });
  for (model::Function& function : model.functions) drop(function.value_info);
}

void drop_idle_nodes(model::Model& model, const Report&, Journal& journal) {
  const auto drop = [&](std::vector<model::Node>& nodes) {
    std::erase_if(nodes, [&](const model::Node& node) {
      if (!node.output.empty()) return false;
      journal.push_back(
          fmt::format("{} {} is removed: it has no outputs", node.op_type, in_quotes(node.name)));
      return true;
    });
  };
  each_graph(model, [&](model::Graph& graph) { drop(graph.node); });
  for (model::Function& function : model.functions) drop(function.node);
}

namespace {

// Operators that onnxruntime has declared to ignore attributes that they do not know, up to a
// version of their set.
struct Lenient {
  std::string_view domain, name;
  int64_t before;
};
constexpr Lenient kLenient[] = {{"", "LayerNormalization", 17},
                                {"", "SimplifiedLayerNormalization", INT64_MAX},
                                {"com.microsoft", "BiasDropout", INT64_MAX}};

void keep_known_attributes(model::Node& node, const Opsets& opsets, Journal& journal) {
  const int64_t version = version_of(opsets, node.domain);
  const bool lenient =
      std::any_of(std::begin(kLenient), std::end(kLenient), [&](const Lenient& one) {
        return one.domain == canonical(node.domain) && one.name == node.op_type &&
               version < one.before;
      });
  const Op* op = lenient ? find_op(node.domain, node.op_type) : nullptr;
  const Signature* signature = op == nullptr ? nullptr : op->at(static_cast<int>(version));
  if (signature == nullptr) return;
  std::erase_if(node.attribute, [&](const model::Attribute& attribute) {
    if (signature->attribute(attribute.name) != nullptr) return false;
    journal.push_back(fmt::format("{} no longer has the attribute {}, which it ignores",
                                  node.op_type, in_quotes(attribute.name)));
    return true;
  });
}

}  // namespace

void drop_unknown_attributes(model::Model& model, const Report&, Journal& journal) {
  const Opsets opsets = model::opsets_of(model.opset_import);
  each_graph(model, [&](model::Graph& graph) {
    for (model::Node& node : graph.node) keep_known_attributes(node, opsets, journal);
  });
}

void drop_annotations(model::Model& model, const Report&, Journal& journal) {
  each_graph(model, [&](model::Graph& graph) {
    if (graph.quantization_annotation.empty()) return;
    graph.quantization_annotation.clear();
    journal.push_back(
        fmt::format("quantization annotations of graph {} are removed", in_quotes(graph.name)));
  });
}

void drop_training(model::Model& model, const Report&, Journal& journal) {
  if (model.training_info.empty()) return;
  model.training_info.clear();
  journal.emplace_back("training information is removed");
}

void drop_devices(model::Model& model, const Report&, Journal& journal) {
  model.configuration.clear();
  const auto clear = [](std::vector<model::Node>& nodes) {
    for (model::Node& node : nodes) node.device_configurations.clear();
  };
  each_graph(model, [&](model::Graph& graph) { clear(graph.node); });
  for (model::Function& function : model.functions) clear(function.node);
  journal.emplace_back("device configurations are removed");
}

}  // namespace sdx::check::accept
