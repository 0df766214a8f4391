// The SONNX profile's rules on graphs that ONNX itself does not have.
#include <fmt/ranges.h>

#include "check/checker.h"
#include "model/tensor.h"

namespace sdx::check {

void Checker::sonnx_graph(const model::Graph* graph, const Scope& scope) {
  std::set<std::string_view> used, given;  // by operations; as outputs
  for (const model::Node& node : *scope.nodes) {
    for (const std::string_view name : names_used(node)) used.insert(name);
  }
  if (graph != nullptr) {
    for (const model::ValueInfo& output : graph->output) given.insert(output.name);
  } else {
    given.insert(scope.function->output.begin(), scope.function->output.end());
  }
  sonnx_inputs(graph, scope, used);
  for (const std::string_view output : given) {
    const Definition* definition = scope.own(output);
    if (definition == nullptr || definition->kind != Definition::Kind::input) continue;
    report(rule::sonnx_p1, *scope.place, "the input {} is itself an output", in_quotes(output))
        .help = "an Identity node between them keeps inputs and outputs apart";
  }
  sonnx_dead_outputs(scope, used, given);
  sonnx_random(scope);
  if (scope.subgraph) sonnx_captures(*graph, scope);
  if (sonnx_full()) sonnx_full_graph(graph, scope, given);
}

void Checker::sonnx_inputs(const model::Graph* graph, const Scope& scope,
                           const std::set<std::string_view>& used) {
  const auto look = [&](const std::string& name) {
    if (used.contains(name)) return;
    // A subgraph takes what its operator gives, wanted or not.
    const Severity severity = scope.subgraph ? Severity::note : rule::sonnx_c2.severity;
    add(rule::sonnx_c2, severity, *scope.place,
        fmt::format("no operation uses the input {}", in_quotes(name)));
  };
  if (graph == nullptr) {
    for (const std::string& input : scope.function->input) look(input);
  } else {
    for (const model::ValueInfo& input : graph->input) look(input.name);
  }
}

void Checker::sonnx_dead_outputs(const Scope& scope, const std::set<std::string_view>& used,
                                 const std::set<std::string_view>& given) {
  const std::vector<model::Node>& nodes = *scope.nodes;
  const auto live = [&](const std::string& name) {
    return used.contains(name) || given.contains(name);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
    const std::string* living = nullptr;
    for (const std::string& output : nodes[i].output) {
      if (!output.empty() && live(output)) living = &output;
    }
    for (const std::string& output : nodes[i].output) {
      if (output.empty() || live(output)) continue;
      Diagnostic& d = report(rule::sonnx_r1, place,
                             "no operation uses the output {}, and it is no output of the graph",
                             in_quotes(output));
      if (living != nullptr) {
        d.notes.push_back(fmt::format(
            "read per node instead of per output, the rule holds here: output {} is used",
            in_quotes(*living)));
      }
    }
  }
}

void Checker::sonnx_random(const Scope& scope) {
  const std::vector<model::Node>& nodes = *scope.nodes;
  // Dropout draws numbers only in training mode: from version 12 an input, before 7 an attribute.
  const auto draws = [&](const model::Node& node, const Callee& called) {
    if (called.op == nullptr) return false;
    if (node.op_type != "Dropout" || called.signature == nullptr) return !called.op->deterministic;
    if (called.signature->since < 7) {
      const model::Attribute* test = node.find("is_test");
      return test == nullptr || test->i == 0;
    }
    if (node.input.size() < 3 || node.input[2].empty()) return false;
    const Definition* mode = scope.find(node.input[2]);
    if (mode == nullptr || mode->tensor == nullptr) return true;
    const auto value = model::to_tensor(*mode->tensor);
    return !value || value->type() != DType::boolean || value->count() != 1 ||
           value->data<bool>()[0];
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!draws(nodes[i], callee(nodes[i], *scope.opsets))) continue;
    const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
    report(rule::sonnx_r2, place, "{} draws random numbers", nodes[i].op_type);
  }
}

void Checker::sonnx_captures(const model::Graph& graph, const Scope& scope) {
  std::vector<std::string_view> names;
  free_names(graph, names);
  std::set<std::string> captured;
  for (const std::string_view name : names) {
    if (scope.outer->find(name) != nullptr) captured.insert(in_quotes(name));
  }
  if (captured.empty()) return;
  add(rule::sonnx_f3, options_.capture_forbid ? Severity::error : rule::sonnx_f3.severity,
      *scope.place, fmt::format("the subgraph uses outer values: {}", fmt::join(captured, ", ")));
}

}  // namespace sdx::check
