// Calls of model-local functions, replaced by the bodies they call.
#include <algorithm>
#include <map>
#include <set>

#include "check/fix.h"
#include "check/scope.h"
#include "model/fields.h"

namespace sdx::check {
namespace {

using model::Attribute;
using model::Function;
using model::Graph;
using model::Node;

using Names = std::map<std::string, std::string, std::less<>>;

template <class Visit>
void each_graph(std::vector<Attribute>& attributes, const Visit& visit) {
  for (Attribute& a : attributes) {
    if (a.g) visit(*a.g);
    for (Graph& graph : a.graphs) visit(graph);
  }
}

class Inliner {
 public:
  Inliner(const model::Model& model, model::Model& made, size_t most_nodes)
      : model_(made), most_nodes_(most_nodes) {
    for (const Function& f : model.functions) functions_[{id(f.domain), f.name, f.overload}] = &f;
    if (model.graph) remember(*model.graph);
    for (const Function& f : model.functions) remember(f.node);
  }
  size_t calls = 0;

  Status graph(Graph& g, size_t depth) {
    std::vector<Node> nodes;
    SDX_TRY(into(std::move(g.node), nodes, depth));
    g.node = std::move(nodes);
    return ok();
  }

 private:
  static std::string id(std::string_view domain) { return std::string(canonical(domain)); }

  void remember(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      used_.insert(node.output.begin(), node.output.end());
      for (const Attribute& a : node.attribute) {
        if (a.g) remember(*a.g);
        for (const Graph& graph : a.graphs) remember(graph);
      }
    }
  }
  void remember(const Graph& g) {
    for (const model::ValueInfo& input : g.input) used_.insert(input.name);
    for (const model::TensorData& init : g.initializer) used_.insert(init.name);
    for (const model::SparseTensorData& init : g.sparse_initializer) {
      if (init.values) used_.insert(init.values->name);
    }
    remember(g.node);
  }
  std::string fresh(const std::string& base) {
    std::string name = fmt::format("{}_{}", base, calls);
    while (!used_.insert(name).second) name += "_";
    return name;
  }

  Status into(std::vector<Node> from, std::vector<Node>& nodes, size_t depth) {
    constexpr size_t kDeepest = 100;
    if (depth > kDeepest) return fail("SDX-F0001", "functions call each other {} deep", kDeepest);
    for (Node& node : from) {
      const auto at = functions_.find({id(node.domain), node.op_type, node.overload});
      if (at != functions_.end()) {
        SDX_TRY(call(*at->second, node, nodes, depth));
        continue;
      }
      Status status;
      each_graph(node.attribute, [&](Graph& inner) {
        if (status) status = graph(inner, depth + 1);
      });
      SDX_TRY(std::move(status));
      nodes.push_back(std::move(node));
      if (++count_ > most_nodes_) {
        return fail("SDX-F0002", "more than {} nodes after inlining functions", most_nodes_);
      }
    }
    return ok();
  }

  Status call(const Function& f, const Node& caller, std::vector<Node>& nodes, size_t depth) {
    ++calls;
    import_sets(f);
    Names names;
    for (size_t i = 0; i < f.input.size(); ++i) {
      names[f.input[i]] = i < caller.input.size() ? caller.input[i] : "";
    }
    std::vector<Node> after;  // copies for outputs that are inputs, or outputs twice
    for (size_t i = 0; i < caller.output.size() && i < f.output.size(); ++i) {
      if (caller.output[i].empty()) continue;
      const auto [at, new_name] = names.emplace(f.output[i], caller.output[i]);
      if (new_name) continue;
      Node copy;
      set(copy, &Node::op_type, std::string("Identity"));
      copy.input = {at->second};
      copy.output = {caller.output[i]};
      after.push_back(std::move(copy));
    }
    std::vector<Node> body;
    for (const Node& node : f.node) {
      Node made = node;
      substitute(made, f, caller);
      rename(made, names);
      if (!caller.name.empty()) {
        set(made, &Node::name, node.name.empty() ? caller.name : caller.name + "_" + node.name);
      }
      body.push_back(std::move(made));
    }
    std::move(after.begin(), after.end(), std::back_inserter(body));
    return into(std::move(body), nodes, depth + 1);
  }

  // The function's operator sets become the model's; where both import one, rules have seen to it
  // that its operators mean the same.
  void import_sets(const Function& f) {
    for (const model::OpsetId& wanted : f.opset_import) {
      const bool there = std::any_of(
          model_.opset_import.begin(), model_.opset_import.end(),
          [&](const model::OpsetId& have) { return id(have.domain) == id(wanted.domain); });
      if (!there) model_.opset_import.push_back(wanted);
    }
  }

  // Attributes that refer to the function's take the caller's value, or the default, or go.
  static void substitute(Node& node, const Function& f, const Node& caller) {
    std::vector<Attribute> kept;
    for (Attribute& a : node.attribute) {
      if (a.ref_attr_name.empty()) {
        const auto inside = [&](Graph& graph) {
          for (Node& inner : graph.node) substitute(inner, f, caller);
        };
        if (a.g) inside(*a.g);
        for (Graph& graph : a.graphs) inside(graph);
        kept.push_back(std::move(a));
        continue;
      }
      const Attribute* value = caller.find(a.ref_attr_name);
      for (const Attribute& fallback : f.attribute_proto) {
        if (value == nullptr && fallback.name == a.ref_attr_name) value = &fallback;
      }
      if (value == nullptr) continue;
      Attribute actual = *value;
      set(actual, &Attribute::name, a.name);
      kept.push_back(std::move(actual));
    }
    node.attribute = std::move(kept);
  }

  void define(const std::string& name, Names& names) {
    if (!name.empty() && !names.contains(name)) names[name] = fresh(name);
  }
  static void replace(std::string& name, const Names& names) {
    if (const auto at = names.find(name); at != names.end()) name = at->second;
  }

  void rename(Node& node, Names& names) {
    for (std::string& input : node.input) replace(input, names);
    for (std::string& output : node.output) {
      define(output, names);
      replace(output, names);
    }
    each_graph(node.attribute, [&](Graph& g) { rename(g, names); });
  }
  void rename(Graph& g, Names names) {  // what it defines is its own
    const auto value = [&](std::string& name) {
      define(name, names);
      replace(name, names);
    };
    for (model::ValueInfo& input : g.input) value(input.name);
    for (model::TensorData& init : g.initializer) value(init.name);
    for (model::SparseTensorData& init : g.sparse_initializer) {
      if (init.values) value(init.values->name);
    }
    for (Node& node : g.node) rename(node, names);
    for (model::ValueInfo& output : g.output) replace(output.name, names);
    for (model::ValueInfo& info : g.value_info) replace(info.name, names);
  }

  model::Model& model_;
  size_t most_nodes_, count_ = 0;
  std::map<std::tuple<std::string, std::string, std::string>, const Function*> functions_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace

// Whether a node of the list, or of a subgraph in it, calls an operator of the domain.
static bool uses(const std::vector<Node>& nodes, std::string_view domain) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (canonical(node.domain) == domain) return true;
    return std::any_of(node.attribute.begin(), node.attribute.end(), [&](const Attribute& a) {
      return (a.g && uses(a.g->node, domain)) ||
             std::any_of(a.graphs.begin(), a.graphs.end(),
                         [&](const Graph& graph) { return uses(graph.node, domain); });
    });
  });
}

Result<model::Model> inline_functions(const model::Model& model, size_t most_nodes, size_t* calls) {
  model::Model made = model;
  Inliner inliner(model, made, most_nodes);
  std::vector<Graph*> graphs;
  if (made.graph) graphs.push_back(&*made.graph);
  for (model::TrainingInfo& info : made.training_info) {
    if (info.algorithm) graphs.push_back(&*info.algorithm);
    if (info.initialization) graphs.push_back(&*info.initialization);
  }
  for (Graph* graph : graphs) SDX_TRY(inliner.graph(*graph, 0));
  if (calls != nullptr) *calls = inliner.calls;
  made.functions.clear();
  // Domains that only functions had are no longer imported.
  std::erase_if(made.opset_import, [&](const model::OpsetId& import) {
    const std::string_view domain = canonical(import.domain);
    const bool had = std::any_of(model.functions.begin(), model.functions.end(),
                                 [&](const Function& f) { return canonical(f.domain) == domain; });
    return had && !domain.empty() &&
           std::none_of(graphs.begin(), graphs.end(),
                        [&](const Graph* graph) { return uses(graph->node, domain); });
  });
  return made;
}

}  // namespace sdx::check
