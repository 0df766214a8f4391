// Names: who defines a value, who declares it, and that no two do.
#include "check/checker.h"

namespace sdx::check {

void Checker::graph(const model::Graph& graph, const Scope* outer, const Place& place,
                    const Opsets& opsets, const model::Function* function, Role role) {
  Scope scope{.outer = outer,
              .place = &place,
              .nodes = &graph.node,
              .opsets = &opsets,
              .function = function,
              .main = role == Role::main,
              .subgraph = role == Role::subgraph,
              .algorithm = role == Role::algorithm};
  if (graph.name.empty()) report(rule::graph_name, place, "the graph has no name");
  inputs(graph, scope);
  initializers(graph, scope);
  node_outputs(graph.node, scope);
  declared_facts(graph.output, "output", scope);
  declared_facts(graph.value_info, "value_info", scope);
  dependencies(scope);
  nodes(scope);
  outputs(graph, scope);
  value_infos(graph.value_info, scope);
  annotations(graph, scope);
  metadata(graph.metadata_props, rule::inner_metadata_repeated, place);
  names(graph, scope);
  if (sonnx()) sonnx_graph(&graph, scope);
}

void Checker::not_shadowing(std::string_view name, const Scope& scope, const Place& place) {
  if (!scope.subgraph && !scope.algorithm) return;
  const Scope* where = nullptr;
  const Definition* outside = scope.outer->find(name, &where);
  if (outside == nullptr || !where->visible(*outside)) return;
  Diagnostic& d =
      report(rule::shadowing, place,
             "{} is defined here and also visible from outside, where it is a value of {}",
             in_quotes(name), where->place->own());
  d.notes.push_back(fmt::format("outside it comes from {}", where->producer(*outside)));
  d.help = "names of a subgraph must differ from those of the graphs around it";
}

void Checker::inputs(const model::Graph& graph, Scope& scope) {
  for (const model::ValueInfo& input : graph.input) {
    const Place place = scope.place->in("input", input.name);
    value_info(input, scope.main, place);
    if (input.name.empty()) continue;
    Definition definition{.kind = Definition::Kind::input,
                          .fact = input.type ? fact_of(*input.type) : Fact{}};
    if (!scope.defined.emplace(input.name, std::move(definition)).second) {
      report(rule::input_repeated, *scope.place, "{} stands twice among the inputs",
             in_quotes(input.name));
      continue;
    }
    not_shadowing(input.name, scope, place);
  }
}

void Checker::initializers(const model::Graph& graph, Scope& scope) {
  std::set<std::string_view> seen;
  for (const model::TensorData& init : graph.initializer) {
    const Place place = scope.place->in("initializer", init.name);
    tensor(init, place);
    Fact fact = Fact::tensor(init.dtype());
    fact.shape.emplace(init.dims.begin(), init.dims.end());
    initializer(init.name, fact, &init, seen, scope, place);
  }
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    static const std::string kNone;
    const std::string& name = init.values ? init.values->name : kNone;
    const Place place = scope.place->in("sparse initializer", name);
    sparse(init, place);
    Fact fact = Fact::tensor(init.values ? init.values->dtype() : DType::undefined);
    fact.shape.emplace(init.dims.begin(), init.dims.end());
    initializer(name, fact, nullptr, seen, scope, place);
  }
}

void Checker::initializer(const std::string& name, const Fact& fact,
                          const model::TensorData* tensor, std::set<std::string_view>& seen,
                          Scope& scope, const Place& place) {
  if (name.empty()) {
    report(rule::value_name, *scope.place, "an initializer has no name");
    return;
  }
  if (!seen.insert(name).second) {
    report(rule::initializer_repeated, *scope.place, "{} stands twice among the initializers",
           in_quotes(name));
    return;
  }
  const auto [at, fresh] = scope.defined.emplace(
      name, Definition{.kind = Definition::Kind::initializer, .fact = fact, .tensor = tensor});
  if (fresh) {
    not_shadowing(name, scope, place);
    if (model_.ir_version > 0 && model_.ir_version <= 3) {
      report(rule::initializer_not_input, place,
             "{} is an initializer but no graph input; IR version {} requires both",
             in_quotes(name), model_.ir_version);
    }
    return;
  }
  if (scope.subgraph && model_.ir_version >= 4) {
    report(rule::subgraph_default, place,
           "{} is an input of the subgraph and has an initializer; the operator gives its value",
           in_quotes(name));
  }
  const Fact& declared = at->second.fact;
  if (!agree(declared, fact)) {
    report(rule::default_type, place, "the input {} is declared as {}; its initializer is {}",
           in_quotes(name), type_text(declared), type_text(fact));
  }
  at->second.tensor = tensor;
}

void Checker::node_outputs(const std::vector<model::Node>& nodes, Scope& scope) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output) {
      if (name.empty()) continue;
      const auto [at, fresh] =
          scope.defined.emplace(name, Definition{.kind = Definition::Kind::node, .node = i});
      if (fresh) continue;
      const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
      Diagnostic& d = report(rule::single_assignment, place, "{} is written by {} and again by {}",
                             in_quotes(name), scope.producer(at->second), node_text(nodes, i));
      d.help = "each value has one definition; give the second output another name";
    }
  }
}

void Checker::declared_facts(const std::vector<model::ValueInfo>& infos, std::string_view kind,
                             Scope& scope) {
  for (const model::ValueInfo& info : infos) {
    const auto at = scope.defined.find(info.name);
    if (at == scope.defined.end() || !info.type) continue;
    Definition& definition = at->second;
    const Fact fact = fact_of(*info.type);
    if (!definition.fact.present()) {
      definition.fact = fact;
    } else if (!agree(definition.fact, fact)) {
      const bool made = definition.kind == Definition::Kind::node;
      report(rule::value_info_conflict, scope.place->in(kind, info.name),
             "{} is declared as {} here and as {} as {}", in_quotes(info.name), type_text(fact),
             type_text(definition.fact), made ? "an output" : scope.producer(definition))
          .value = info.name;
    }
  }
}

void Checker::value_infos(const std::vector<model::ValueInfo>& infos, const Scope& scope) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> unknown;
  for (const model::ValueInfo& info : infos) {
    value_info(info, false, scope.place->in("value_info", info.name));
    if (info.name.empty()) continue;
    if (!seen.insert(info.name).second) {
      report(rule::value_info_repeated, *scope.place, "{} stands twice among the value_info",
             in_quotes(info.name))
          .value = info.name;
    } else if (scope.own(info.name) == nullptr) {
      unknown.push_back(info.name);
    }
  }
  if (unknown.empty()) return;
  report(rule::value_info_unknown, *scope.place,
         "the graph has no value {}, which value_info names{}", in_quotes(unknown[0]),
         unknown.size() == 1 ? "" : fmt::format("; nor {} others", unknown.size() - 1));
}

void Checker::outputs(const model::Graph& graph, const Scope& scope) {
  if (scope.main && graph.output.empty()) {
    report(rule::graph_without_outputs, *scope.place, "the graph has no outputs");
  }
  std::set<std::string_view> seen;
  for (const model::ValueInfo& output : graph.output) {
    const Place place = scope.place->in("output", output.name);
    value_info(output, scope.main, place);
    if (output.name.empty()) continue;
    if (!seen.insert(output.name).second) {
      report(rule::output_repeated, *scope.place, "{} stands twice among the outputs",
             in_quotes(output.name));
    }
    if (scope.own(output.name) != nullptr) continue;
    if (scope.algorithm && scope.find(output.name) != nullptr) continue;
    Diagnostic& d = report(rule::output_undefined, *scope.place,
                           "nothing in the graph defines its output {}", in_quotes(output.name));
    if (scope.outer != nullptr && scope.outer->find(output.name) != nullptr) {
      d.help =
          "it is a value of an outer graph: an Identity node in the subgraph makes it an output";
    }
  }
}

void Checker::names(const model::Graph& graph, const Scope& scope) {
  std::vector<std::string_view> odd;
  const auto look = [&](std::string_view name) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    bool good = name.empty() || letter(name[0]);
    for (const char c : name) good = good && (letter(c) || (c >= '0' && c <= '9'));
    if (!good) odd.push_back(name);
  };
  look(graph.name);
  for (const model::ValueInfo& input : graph.input) look(input.name);
  for (const model::TensorData& init : graph.initializer) look(init.name);
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) look(init.values->name);
  }
  std::set<std::string_view> node_names;
  std::vector<std::string_view> repeated;
  for (const model::Node& node : graph.node) {
    look(node.name);
    for (const std::string& output : node.output) look(output);
    if (!node.name.empty() && !node_names.insert(node.name).second) repeated.push_back(node.name);
  }
  const auto more = [](size_t count) {
    return count == 1 ? std::string() : fmt::format(" and {} more", count - 1);
  };
  if (!odd.empty()) {
    add(rule::identifier, sonnx() ? Severity::error : rule::identifier.severity, *scope.place,
        fmt::format("not a C identifier: {}{}", in_quotes(odd[0]), more(odd.size())));
  }
  if (!repeated.empty()) {
    add(rule::node_name_repeated,
        options_.open_types ? Severity::warning : rule::node_name_repeated.severity, *scope.place,
        fmt::format("two nodes have the name {}{}", in_quotes(repeated[0]),
                    repeated.size() == 1 ? "" : more(repeated.size())));
  }
}

}  // namespace sdx::check
