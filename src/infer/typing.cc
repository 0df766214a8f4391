#include "infer/typing.h"

#include <algorithm>

#include "base/budget.h"
#include "base/deadline.h"
#include "base/stack.h"
#include "check/inline.h"
#include "check/supported.h"
#include "gradient/gradient.h"
#include "infer/attributes.h"
#include "infer/model_body.h"
#include "infer/names.h"
#include "infer/walk.h"
#include "model/functions.h"
#include "model/library.h"
#include "model/tensor.h"
#include "ops/list.h"

namespace sdx::infer {
namespace {

using typed::Graph;
using typed::Outlet;

constexpr std::string_view kTraining = "ai.onnx.preview.training";

// The functions of the model that this thread is typing: its subgraphs are typed one by one.
const model::Functions& functions_of(const std::shared_ptr<const model::Model>& model) {
  struct Last {
    std::weak_ptr<const model::Model> model;
    std::optional<model::Functions> functions;
  };
  static thread_local Last last;
  if (!last.functions || last.model.lock() != model) {
    last.functions.emplace(*model);
    last.model = model;
  }
  return *last.functions;
}

class Typer {
 public:
  Typer(std::shared_ptr<const model::Model> model, const Options& options, Sink& sink,
        std::string place = "")
      : model_(std::move(model)), options_(options), sink_(sink), place_(std::move(place)) {}

  Status graph_body(const model::Graph& body, Scope& scope) {
    for (const model::TensorData& init : body.initializer) {
      if (scope.wires.contains(init.name)) continue;  // given from outside
      Result<Tensor> tensor = model::to_tensor(init);
      if (!tensor)
        return std::move(tensor).error().in(
            fmt::format("{}, initializer \"{}\"", scope.path, init.name));
      const Entered here(sink_, &init);
      scope.wires[init.name] = sink_.constant(*std::move(tensor), init.name);
    }
    for (const model::SparseTensorData& init : body.sparse_initializer) {
      const std::string& name = init.values ? init.values->name : std::string();
      if (scope.wires.contains(name)) continue;
      Result<Tensor> tensor = model::to_dense(init);
      if (!tensor)
        return std::move(tensor).error().in(
            fmt::format("{}, initializer \"{}\"", scope.path, name));
      const Entered here(sink_, &init);
      scope.wires[name] = sink_.constant(*std::move(tensor), name);
    }
    return nodes(body.node, scope);
  }

  // `part`: which of them; null for all.
  Status nodes(const std::vector<model::Node>& list, Scope& scope,
               const std::vector<bool>* part = nullptr) {
    for (size_t i = 0; i < list.size(); ++i) {
      const model::Node& node = list[i];
      if (part != nullptr && !(*part)[i]) continue;
      const Entered here(sink_, &node);
      if (Status status = add(list, i, scope); !status) {
        Error error = std::move(status).error();
        // What the typed graph calls "node ..." has a place in the model.
        const auto at =
            std::find_if(error.where.begin(), error.where.end(),
                         [](const std::string& place) { return place.starts_with("node"); });
        if (at != error.where.end()) {
          *at = fmt::format("{}, node {}{}", scope.path, i, at->substr(4));
          return error;
        }
        const std::string name = node.name.empty() ? "" : fmt::format(" \"{}\"", node.name);
        return std::move(error).in(
            fmt::format("{}, node {}{} ({})", scope.path, i, name, node.op_type));
      }
    }
    return ok();
  }

 private:
  Result<Outlet> wire(const std::string& name, const Scope& scope) {
    if (name.empty()) return Outlet{};
    const auto at = scope.wires.find(name);
    if (at == scope.wires.end())
      return fail("SDX-G0001", "nothing before this node defines \"{}\"", name);
    return at->second;
  }

  // The node's name, or that of its first output: what people find it by.
  static const std::string& label(const model::Node& node) {
    if (!node.name.empty()) return node.name;
    const auto named = std::find_if(node.output.begin(), node.output.end(),
                                    [](const std::string& name) { return !name.empty(); });
    return named == node.output.end() ? node.name : *named;
  }

  const model::Function* called_by(const model::Node& node) const {
    if (model_->functions.empty()) return model::find_added_function(node);
    return functions_of(model_).find(node);
  }

  Status add(const std::vector<model::Node>& list, size_t at, Scope& scope) {
    const model::Node& node = list[at];
    if (sink_.size() > options_.most_nodes) {
      return check::too_many_nodes(options_.most_nodes);
    }
    Deadline::poll();
    if (Budget* budget = Budget::open(); budget != nullptr && !budget->take_step()) {
      return fail("SDX-G0017", "subgraphs within subgraphs are typed again too often");
    }
    std::vector<Outlet> inputs;
    for (const std::string& name : node.input) {
      SDX_ASSIGN(const Outlet outlet, wire(name, scope));
      inputs.push_back(outlet);
    }
    if (const model::Function* function = called_by(node))
      return call(*function, node, inputs, scope);

    const auto version = scope.opsets->find(node.domain);
    if (version == scope.opsets->end()) {
      return fail("SDX-G0002", "the model imports no version of operator set \"{}\"", node.domain);
    }
    const Op* op = find_op(node.domain, node.op_type);
    if (op == nullptr) return check::not_supported(version->first, node.op_type);
    if (op == find_op(kTraining, "Gradient")) return gradient(list, at, inputs, scope);

    sdx::Node use;
    use.op = op;
    use.opset = int(version->second);
    use.name = node.name;
    use.formal_inputs = inputs.size();
    std::vector<std::string> captured;
    for (const model::Attribute& attribute : node.attribute) {
      if (attribute.g) {
        outer_names(*attribute.g, scope.graphs, captured);
      } else if (const auto given = argument(attribute, scope)) {
        for (const std::string& name : given->captured) add_once(given->mark + name, captured);
      }
    }
    for (const std::string& name : captured) {
      SDX_ASSIGN(const Outlet outlet, wire(name, scope));
      inputs.push_back(outlet);
    }
    for (const model::Attribute& attribute : node.attribute) {
      if (attribute.g) {
        use.attrs.emplace(attribute.name,
                          body_source(*attribute.g, captured, scope, attribute.name));
        continue;
      }
      if (const auto given = argument(attribute, scope)) {
        use.attrs.emplace(attribute.name,
                          body_source(*given, captured, attribute.name, scope.depth));
        continue;
      }
      SDX_ASSIGN(std::optional<AttrValue> value, attribute_value(attribute, scope.arguments));
      if (value) use.attrs.emplace(attribute.name, *std::move(value));
    }
    for (const std::string& name : node.output) use.wanted.push_back(!name.empty());
    SDX_ASSIGN(const std::vector<Outlet> outputs,
               sink_.add(std::move(use), std::move(inputs), {label(node)}));
    for (size_t i = 0; i < node.output.size(); ++i) {
      if (!node.output[i].empty()) scope.wires[node.output[i]] = outputs[i];
    }
    return ok();
  }

  // The graph that the function around was given for the attribute; null if that is no graph.
  static std::shared_ptr<const GraphArgument> argument(const model::Attribute& attribute,
                                                       const Scope& scope) {
    const auto at = scope.graphs.find(attribute.ref_attr_name);
    return at != scope.graphs.end() ? at->second : nullptr;
  }
  static void add_once(std::string name, std::vector<std::string>& into) {
    if (std::find(into.begin(), into.end(), name) == into.end()) into.push_back(std::move(name));
  }
  // What a graph uses of the wires around it, itself or in graphs that it refers to.
  static void outer_names(const model::Graph& graph, const GraphArguments& graphs,
                          std::vector<std::string>& into) {
    free_names(graph, into);
    std::vector<std::string> refers;
    referred(graph, refers);
    for (const std::string& name : refers) {
      const auto at = graphs.find(name);
      if (at == graphs.end()) continue;
      for (const std::string& captured : at->second->captured)
        add_once(at->second->mark + captured, into);
    }
  }

  // Gradient: the nodes that make y from xs and zs are typed by themselves and differentiated; what
  // computes the derivatives takes the node's place, at the values that it is given.
  Status gradient(const std::vector<model::Node>& list, size_t at,
                  const std::vector<Outlet>& inputs, Scope& scope) {
    const model::Node& node = list[at];
    if (!sink_.knows_facts()) return fail(kForwardsOnly, "Gradient is typed forwards only");
    std::vector<std::string> independent, xs;
    std::string y;
    for (const std::string_view wanted : {"xs", "zs", "y"}) {
      for (const model::Attribute& attribute : node.attribute) {
        if (attribute.name != wanted) continue;
        if (wanted == "y") y = attribute.s;
        if (wanted == "xs") xs = attribute.strings;
        independent.insert(independent.end(), attribute.strings.begin(), attribute.strings.end());
      }
    }
    if (inputs.size() != independent.size() || node.output.size() > xs.size()) {
      return fail("SDX-G0011", "Gradient: {} inputs and {} outputs for {} names in xs and {} in zs",
                  inputs.size(), node.output.size(), xs.size(), independent.size() - xs.size());
    }
    Graph graph;
    Scope inner;
    inner.opsets = scope.opsets;
    inner.arguments = scope.arguments;
    inner.path = scope.path;
    inner.calls = scope.calls;
    inner.depth = scope.depth;
    std::vector<Outlet> outside;  // of each source of `graph`
    for (size_t i = 0; i < independent.size(); ++i) {
      Fact fact = sink_.fact(inputs[i]);
      if (!fact.is_tensor() || (i < xs.size() && !is_float(fact.type))) {
        return fail("SDX-G0011", "Gradient: input {} is {}, which has no derivative", i,
                    fact.text());
      }
      fact.value.reset();  // it varies
      fact.symbolic.reset();
      inner.wires[independent[i]] = graph.source(independent[i], fact);
      outside.push_back(inputs[i]);
    }
    std::vector<std::string> given;
    const std::vector<bool> part = nodes_between(list, at, independent, y, given);
    for (const std::string& name : given) {
      SDX_ASSIGN(const Outlet outer, wire(name, scope));
      const Fact& fact = sink_.fact(outer);
      if (fact.value) {
        inner.wires[name] = graph.constant(*fact.value, name);
      } else if (fact.present()) {
        inner.wires[name] = graph.source(name, fact);
        outside.push_back(outer);
      } else {
        inner.wires[name] = Outlet{};
      }
    }
    GraphSink part_of_graph(graph);
    SDX_TRY(Typer(model_, options_, part_of_graph, place_).nodes(list, inner, &part));
    SDX_ASSIGN(const Outlet target, wire(y, inner));
    std::vector<Outlet> variables(graph.inputs().begin(),
                                  graph.inputs().begin() + std::ptrdiff_t(xs.size()));
    SDX_ASSIGN(const std::vector<Outlet> grads, gradient::differentiate(graph, target, variables));
    for (size_t i = 0; i < grads.size(); ++i) graph.output(xs[i], grads[i]);
    SDX_ASSIGN(const std::vector<Outlet> wires, splice(graph.without_dead(), outside, node.name));
    for (size_t i = 0; i < node.output.size(); ++i) {
      if (!node.output[i].empty()) scope.wires[node.output[i]] = wires[i];
    }
    return ok();
  }

  // The nodes of `part` in this graph, on these wires instead of its sources; its outputs.
  Result<std::vector<Outlet>> splice(const Graph& part, const std::vector<Outlet>& sources,
                                     const std::string& origin) {
    std::vector<std::vector<Outlet>> wires(part.size());
    size_t source = 0;
    for (uint32_t id = 0; id < part.size(); ++id) {
      const typed::Node& node = part.node(id);
      if (node.kind == typed::Node::Kind::source) {
        wires[id] = {sources[source++]};
      } else if (node.kind == typed::Node::Kind::constant) {
        wires[id] = {sink_.constant(*node.outputs[0].value, node.use.name)};
      } else {
        std::vector<Outlet> inputs;
        for (const Outlet in : node.inputs)
          inputs.push_back(in.present() ? wires[in.node][in.slot] : in);
        SDX_ASSIGN(wires[id], sink_.add(node.use, std::move(inputs), {origin}));
      }
    }
    std::vector<Outlet> outputs;
    for (const typed::Output& output : part.outputs())
      outputs.push_back(wires[output.outlet.node][output.outlet.slot]);
    return outputs;
  }

  // A call of a model-local function: its nodes take the place of the call.
  Status call(const model::Function& function, const model::Node& node,
              const std::vector<Outlet>& inputs, Scope& outer) {
    if (std::find(outer.calls.begin(), outer.calls.end(), &function) != outer.calls.end()) {
      std::string chain;
      for (const model::Function* caller : outer.calls) chain += caller->name + " -> ";
      return check::calls_itself(chain + function.name);
    }
    if (outer.depth >= kDeepestCalls) return check::too_deep();
    SDX_TRY(check::fits_function(function, node));
    AttrMap arguments;
    const Opsets opsets = opsets_of(function.opset_import);
    Scope scope;
    scope.opsets = &opsets;
    scope.arguments = &arguments;
    scope.path = fmt::format("{}, function {}", outer.path, function.name.substr(0, 256));
    scope.calls = outer.calls;
    scope.calls.push_back(&function);
    scope.depth = outer.depth + 1;
    const auto take = [&](const model::Attribute& attribute, const Scope& from) -> Status {
      if (attribute.g) return take_graph(attribute, from, scope);
      if (const auto given = argument(attribute, from)) {
        for (const std::string& name : given->captured) {
          SDX_ASSIGN(scope.wires[given->mark + name], wire(given->mark + name, from));
        }
        scope.graphs.insert_or_assign(attribute.name, given);
        return ok();
      }
      SDX_ASSIGN(std::optional<AttrValue> value, attribute_value(attribute, from.arguments));
      if (value) arguments.insert_or_assign(attribute.name, *std::move(value));
      return ok();
    };
    Scope nothing;  // what a default sees
    nothing.opsets = &opsets;
    nothing.path = scope.path;
    nothing.calls = scope.calls;
    nothing.depth = scope.depth;
    for (const model::Attribute& attribute : function.attribute_proto)
      SDX_TRY(take(attribute, nothing));
    for (const model::Attribute& attribute : node.attribute) SDX_TRY(take(attribute, outer));
    for (size_t i = 0; i < function.input.size(); ++i) {
      scope.wires[function.input[i]] = i < inputs.size() ? inputs[i] : Outlet{};
    }
    SDX_TRY(nodes(function.node, scope));
    for (size_t i = 0; i < node.output.size(); ++i) {
      if (node.output[i].empty()) continue;
      SDX_ASSIGN(outer.wires[node.output[i]], wire(function.output[i], scope));
    }
    return ok();
  }

  // The graph that a call in scope `from` gives to the function of scope `to`.
  Status take_graph(const model::Attribute& attribute, const Scope& from, Scope& to) {
    auto given = std::make_shared<GraphArgument>();
    given->graph = &*attribute.g;
    given->mark = fmt::format("@{}{}:", place_, graphs_given_++);
    given->opsets = *from.opsets;
    if (from.arguments != nullptr) given->arguments = *from.arguments;
    given->graphs = from.graphs;
    given->path = from.path;
    given->calls = from.calls;
    outer_names(*attribute.g, from.graphs, given->captured);
    for (const std::string& name : given->captured) {
      SDX_ASSIGN(to.wires[given->mark + name], wire(name, from));
    }
    to.graphs.insert_or_assign(attribute.name, std::move(given));
    return ok();
  }

  std::shared_ptr<const BodySource> body_source(const GraphArgument& given,
                                                std::vector<std::string> captured,
                                                const std::string& attribute, size_t depth) {
    Scope scope;
    scope.depth = depth;
    scope.opsets = &given.opsets;
    scope.arguments = &given.arguments;
    scope.graphs = given.graphs;
    scope.path = given.path;
    scope.calls = given.calls;
    for (std::string& name : captured) {  // what is not its own it does not see
      name = name.starts_with(given.mark) ? name.substr(given.mark.size()) : "";
    }
    return body_source(*given.graph, std::move(captured), scope, attribute);
  }

  std::shared_ptr<const BodySource> body_source(const model::Graph& body,
                                                std::vector<std::string> captured,
                                                const Scope& scope, const std::string& attribute) {
    // Names of sizes of the body must differ from those of the graphs around it, and of other
    // bodies: its name says where it stands.
    const std::string place = fmt::format("{}{}{}.", place_, sink_.size(), attribute.front());
    const bool branch = attribute == "then_branch" || attribute == "else_branch";
    return model_body(model_, body, std::move(captured), scope, options_, place, branch);
  }

  std::shared_ptr<const model::Model> model_;
  const Options& options_;
  Sink& sink_;
  std::string place_;  // of the subgraph, through the graphs around it
  size_t graphs_given_ = 0;
};

}  // namespace

std::vector<Stated> stated(const model::Graph& graph, const Wires& wires) {
  std::vector<Stated> all;
  for (const auto* list : {&graph.output, &graph.value_info}) {
    for (const model::ValueInfo& value : *list) {
      const auto at = wires.find(value.name);
      if (at != wires.end() && at->second.present() && value.type)
        all.push_back({at->second, check::declared_fact(value)});
    }
  }
  return all;
}

namespace {

Fact bound(Fact fact, const Bindings& bindings) {
  if (fact.shape) {
    for (Dim& dim : *fact.shape) dim = dim.bind(bindings);
  }
  return fact;
}

}  // namespace

Status walk_graph(const std::shared_ptr<const model::Model>& model, const model::Graph& graph,
                  const std::string& place, const Options& options, Sink& sink, Scope& scope) {
  SDX_TRY(Typer(model, options, sink, place).graph_body(graph, scope));
  for (const model::ValueInfo& output : graph.output) {
    if (!scope.wires.contains(output.name))
      return fail("SDX-G0007", "nothing defines output \"{}\"", output.name).in(scope.path);
  }
  return ok();
}

Result<Wires> walk_model(const std::shared_ptr<const model::Model>& model, const Options& options,
                         Sink& sink) {
  const model::Graph& main = *model->graph;
  const Opsets opsets = opsets_of(model->opset_import);
  Scope scope;
  scope.opsets = &opsets;
  scope.path = fmt::format("graph \"{}\"", main.name);

  std::map<std::string_view, Fact> initialized;
  for (const model::TensorData& init : main.initializer)
    initialized.emplace(init.name, Fact::tensor(init.dtype(), shape_of(init.dims)));
  for (const model::SparseTensorData& init : main.sparse_initializer) {
    if (init.values)
      initialized.emplace(init.values->name,
                          Fact::tensor(init.values->dtype(), shape_of(init.dims)));
  }
  for (const model::ValueInfo& input : main.input) {
    Fact fact = check::declared_fact(input);
    if (const auto at = initialized.find(input.name); at != initialized.end()) {
      if (!options.overridden.contains(input.name)) continue;  // the default
      if (fact.type == DType::undefined) fact = at->second;
    }
    scope.wires[input.name] = sink.source(input.name, bound(fact, options.set));
  }
  SDX_TRY(walk_graph(model, main, "", options, sink, scope));
  return std::move(scope.wires);
}

}  // namespace sdx::infer
