#include "check/fix.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/accept/mends.h"
#include "check/check.h"
#include "check/inline.h"
#include "check/report.h"
#include "check/scope.h"
#include "model/fields.h"
#include "model/tensor.h"
#include "ops/list.h"

namespace sdx::check {
namespace {

using model::Attribute;
using model::Graph;
using model::Node;

class Fixer {
 public:
  Fixer(model::Model& model, std::vector<std::string>& journal, const FixOptions& options)
      : model_(model), journal_(journal), options_(options) {
    for (const model::OpsetId& import : model.opset_import) {
      opsets_[std::string(canonical(import.domain))] = import.version;
    }
  }

  void graph(Graph& g, bool main) {
    for (Node& node : g.node) each_subgraph(node, [&](Graph& inner) { graph(inner, false); });
    sort(g);
    if (options_.profile == Profile::onnx) return;
    if (model_.training_info.empty()) {  // training reads values that no output needs
      remove_dead(g);
      leave_out(g);
    }
    if (main && options_.rename) part_inputs(g);
    if (options_.profile != Profile::sonnx_full) return;
    for (Node& node : g.node) give_defaults(node);
  }

  void names() {
    if (!model_.graph || options_.profile == Profile::onnx) return;
    if (!options_.rename) {
      for (const auto* list : {&model_.graph->input, &model_.graph->output}) {
        for (const model::ValueInfo& info : *list) kept_.insert(info.name);
      }
    }
    reserve(*model_.graph);
    name_values(*model_.graph, {});
    name_nodes(*model_.graph);
  }

 private:
  template <class Visit>
  static void each_subgraph(Node& node, const Visit& visit) {
    for (Attribute& a : node.attribute) {
      if (a.g) visit(*a.g);
      for (Graph& inner : a.graphs) visit(inner);
    }
  }
  static std::string called(const Node& node) {
    return node.name.empty() ? node.op_type
                             : fmt::format("{} {}", node.op_type, in_quotes(node.name));
  }
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    journal_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  const Signature* signature(const Node& node) const {
    const Op* op = find_op(node.domain, node.op_type);
    const int64_t version = version_of(opsets_, node.domain);
    return op == nullptr || version < 1 || version > INT32_MAX ? nullptr
                                                               : op->at(static_cast<int>(version));
  }

  void sort(Graph& g) {
    if (accept::sort_nodes(g.node)) {
      note("the nodes of graph {} stand in topological order", in_quotes(g.name));
    }
  }

  static std::set<std::string> used_names(const Graph& g) {
    std::set<std::string> used;
    for (const Node& node : g.node) {
      for (const std::string_view name : names_used(node)) used.emplace(name);
    }
    for (const model::ValueInfo& output : g.output) used.insert(output.name);
    return used;
  }

  void remove_dead(Graph& g) {
    std::set<std::string, std::less<>> live;
    for (const model::ValueInfo& output : g.output) live.insert(output.name);
    std::vector<bool> keep(g.node.size(), false);
    for (size_t i = g.node.size(); i-- > 0;) {
      const Node& node = g.node[i];
      keep[i] = std::any_of(node.output.begin(), node.output.end(),
                            [&](const std::string& name) { return live.contains(name); });
      if (!keep[i]) continue;
      for (const std::string_view name : names_used(node)) live.emplace(name);
    }
    std::vector<Node> nodes;
    for (size_t i = 0; i < g.node.size(); ++i) {
      if (keep[i]) {
        nodes.push_back(std::move(g.node[i]));
      } else {
        note("{} is removed: no output of graph {} depends on it", called(g.node[i]),
             in_quotes(g.name));
      }
    }
    g.node = std::move(nodes);
    std::set<std::string_view> inputs;
    for (const model::ValueInfo& input : g.input) inputs.insert(input.name);
    size_t before = g.initializer.size();
    std::erase_if(g.initializer, [&](const model::TensorData& init) {
      return !live.contains(init.name) && !inputs.contains(init.name);
    });
    if (const size_t gone = before - g.initializer.size(); gone > 0) {
      note("{} initializers of graph {} that nothing reads are removed", gone, in_quotes(g.name));
    }
    std::set<std::string_view> defined = inputs;
    for (const Node& node : g.node) defined.insert(node.output.begin(), node.output.end());
    for (const model::TensorData& init : g.initializer) defined.insert(init.name);
    std::erase_if(g.value_info,
                  [&](const model::ValueInfo& info) { return !defined.contains(info.name); });
  }

  // Optional outputs that nobody reads.
  void leave_out(Graph& g) {
    const std::set<std::string> used = used_names(g);
    for (Node& node : g.node) {
      const Signature* found = signature(node);
      if (found == nullptr) continue;
      for (size_t i = 0; i < node.output.size(); ++i) {
        const Formal* formal = found->output(i);
        if (node.output[i].empty() || used.contains(node.output[i]) || formal == nullptr ||
            formal->option != Formal::Option::optional) {
          continue;
        }
        note("{} no longer gives {}, which nobody reads", called(node), in_quotes(node.output[i]));
        std::erase_if(g.value_info,
                      [&](const model::ValueInfo& info) { return info.name == node.output[i]; });
        node.output[i].clear();
      }
      while (!node.output.empty() && node.output.back().empty()) node.output.pop_back();
    }
  }

  // Every name of a value that the graph or a graph within it defines or reads.
  static void all_names(const Graph& g, std::set<std::string>& names) {
    names.merge(used_names(g));
    for (const model::ValueInfo& input : g.input) names.insert(input.name);
    for (const model::TensorData& init : g.initializer) names.insert(init.name);
    for (const model::SparseTensorData& init : g.sparse_initializer) {
      if (init.values) names.insert(init.values->name);
    }
    for (const Node& node : g.node) {
      names.insert(node.output.begin(), node.output.end());
      for (const Attribute& a : node.attribute) {
        if (a.g) all_names(*a.g, names);
        for (const Graph& inner : a.graphs) all_names(inner, names);
      }
    }
  }

  // A model of other operators alone does not import those of ONNX.
  void import_onnx() {
    if (version_of(opsets_, "") >= 1) return;
    model::OpsetId onnx;
    set(onnx, &model::OpsetId::domain, std::string());
    set(onnx, &model::OpsetId::version, model_.ir_version >= 8 ? 16 : 1);
    opsets_[std::string(canonical(""))] = onnx.version;
    model_.opset_import.push_back(std::move(onnx));
  }

  // Whether an Identity of this model's opset takes values of the type; of an unknown one it does.
  bool can_copy(const model::ValueInfo& info) const {
    Node identity;
    identity.op_type = "Identity";
    const Signature* found = signature(identity);
    const Fact fact = info.type ? fact_of(*info.type) : Fact{};
    if (found == nullptr || !fact.present()) return found != nullptr;
    const auto allowed = found->types.find(found->inputs[0].type);
    return allowed == found->types.end() ||
           std::find(allowed->second.begin(), allowed->second.end(), fact.onnx_type()) !=
               allowed->second.end();
  }

  // An input that is itself an output reaches it through an Identity.
  void part_inputs(Graph& g) {
    std::set<std::string> taken;
    all_names(g, taken);
    for (model::ValueInfo& output : g.output) {
      const auto input =
          std::find_if(g.input.begin(), g.input.end(),
                       [&](const model::ValueInfo& info) { return info.name == output.name; });
      if (input == g.input.end()) continue;
      import_onnx();
      if (!can_copy(*input)) continue;
      Node copy;
      set(copy, &Node::op_type, std::string("Identity"));
      copy.input = {output.name};
      std::string name = output.name + "_out";
      while (!taken.insert(name).second) name += "_";
      copy.output = {name};
      g.node.push_back(std::move(copy));
      note("the input {} is given as output {} through an Identity", in_quotes(output.name),
           in_quotes(name));
      set(output, &model::ValueInfo::name, name);
    }
  }

  void give_defaults(Node& node) {
    const Signature* found = signature(node);
    if (found == nullptr) return;
    std::vector<std::string_view> given;
    for (const AttrDecl& declared : found->attributes) {
      if (node.find(declared.name) != nullptr || !declared.fallback) continue;
      Attribute a;
      set(a, &Attribute::name, declared.name);
      set(a, &Attribute::type, static_cast<model::AttributeType>(declared.type));
      if (!fill(a, *declared.fallback)) continue;
      node.attribute.push_back(std::move(a));
      given.push_back(declared.name);
    }
    if (!given.empty()) note("{} states its defaults: {}", called(node), fmt::join(given, ", "));
  }

  static bool fill(Attribute& a, const AttrValue& value) {
    if (const auto* i = std::get_if<int64_t>(&value)) {
      set(a, &Attribute::i, *i);
    } else if (const auto* f = std::get_if<float>(&value)) {
      set(a, &Attribute::f, *f);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      set(a, &Attribute::s, *s);
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
      a.ints = *ints;
    } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
      a.floats = *floats;
    } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
      a.strings = *strings;
    } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
      a.t = model::from_tensor(*tensor);
    } else {
      return false;
    }
    return true;
  }

  static bool is_identifier(std::string_view name) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
      return letter(c) || (c >= '0' && c <= '9');
    });
  }
  // As close to the name as a C identifier that is not taken can be.
  static std::string identifier(const std::string& name, std::set<std::string>& taken) {
    std::string made;
    for (const char c : name) made += is_identifier(std::string("_") + c) ? c : '_';
    if (!is_identifier(made)) made = "_" + made;
    const std::string stem = made;
    for (size_t i = 2; !taken.insert(made).second; ++i) made = fmt::format("{}_{}", stem, i);
    return made;
  }
  // Names that are identifiers stay, so others must not become them.
  void reserve(const Graph& g) {
    const auto look = [&](const std::string& name) {
      if (is_identifier(name)) values_.insert(name);
    };
    for (const model::ValueInfo& input : g.input) look(input.name);
    for (const model::TensorData& init : g.initializer) look(init.name);
    for (const Node& node : g.node) {
      for (const std::string& output : node.output) look(output);
      for (const Attribute& a : node.attribute) {
        if (a.g) reserve(*a.g);
        for (const Graph& inner : a.graphs) reserve(inner);
      }
    }
  }

  // Names of values are one space for a graph and all within it.
  void name_values(Graph& g, std::map<std::string, std::string, std::less<>> renamed) {
    const auto rename = [&](std::string& name) {
      if (const auto at = renamed.find(name); at != renamed.end()) name = at->second;
    };
    const auto define = [&](const std::string& name) {
      if (name.empty() || renamed.contains(name)) return;
      const bool stays = is_identifier(name) || kept_.contains(name);
      const std::string made = stays ? name : identifier(name, values_);
      if (made != name) note("the value {} is now {}", in_quotes(name), in_quotes(made));
      renamed.insert_or_assign(name, made);
    };
    std::set<std::string> graph_names;
    if (!is_identifier(g.name)) set(g, &Graph::name, identifier(g.name, graph_names));
    for (const model::ValueInfo& input : g.input) define(input.name);
    for (const model::TensorData& init : g.initializer) define(init.name);
    for (const model::SparseTensorData& init : g.sparse_initializer) {
      if (init.values) define(init.values->name);
    }
    for (const Node& node : g.node) {
      for (const std::string& output : node.output) define(output);
    }
    for (auto* list : {&g.input, &g.output, &g.value_info}) {
      for (model::ValueInfo& info : *list) rename(info.name);
    }
    for (model::TensorData& init : g.initializer) rename(init.name);
    for (model::SparseTensorData& init : g.sparse_initializer) {
      if (init.values) rename(init.values->name);
    }
    for (model::TensorAnnotation& a : g.quantization_annotation) {
      rename(a.tensor_name);
      for (model::StringEntry& entry : a.quant_parameter_tensor_names) rename(entry.value);
    }
    for (Node& node : g.node) {
      for (std::string& input : node.input) rename(input);
      for (std::string& output : node.output) rename(output);
      for (model::NodeDeviceConfiguration& c : node.device_configurations) {
        for (model::ShardingSpec& spec : c.sharding_spec) rename(spec.tensor_name);
      }
      each_subgraph(node, [&](Graph& inner) { name_values(inner, renamed); });
    }
  }

  void name_nodes(Graph& g) {
    std::set<std::string> taken, seen;
    for (const Node& node : g.node) {
      if (is_identifier(node.name)) taken.insert(node.name);
    }
    for (Node& node : g.node) {
      each_subgraph(node, [&](Graph& inner) { name_nodes(inner); });
      if (node.name.empty()) continue;
      const bool first = seen.insert(node.name).second;
      if (first && is_identifier(node.name)) continue;
      const std::string made = identifier(node.name, taken);
      if (made != node.name) note("the node {} is now {}", in_quotes(node.name), in_quotes(made));
      set(node, &Node::name, made);
    }
  }

  model::Model& model_;
  std::vector<std::string>& journal_;
  const FixOptions& options_;
  Opsets opsets_;
  std::set<std::string, std::less<>> kept_;  // names of the main graph's inputs and outputs
  std::set<std::string> values_;
};

}  // namespace

Result<Fixed> fix(const model::Model& model, const FixOptions& options) {
  Fixed fixed;
  const Report found = check(model, {.open_types = true});
  model::Model mended = model;
  accept::mend(mended, found, fixed.journal);
  if (options.profile != Profile::onnx) {
    SDX_ASSIGN(Inlined plain, inline_functions(mended, {.most_nodes = options.most_nodes}));
    fixed.model = std::move(plain.model);
    if (plain.calls > 0)
      fixed.journal.push_back(fmt::format("{} calls of functions are inlined", plain.calls));
  } else {
    fixed.model = std::move(mended);
  }
  Fixer fixer(fixed.model, fixed.journal, options);
  if (fixed.model.graph) fixer.graph(*fixed.model.graph, true);
  if (fixed.model.training_info.empty()) fixer.names();
  return fixed;
}

}  // namespace sdx::check
