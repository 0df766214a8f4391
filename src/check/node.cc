// Nodes: what they call, and whether they keep to its signature.
#include <fmt/ranges.h>

#include <algorithm>

#include "check/checker.h"
#include "model/library.h"
#include "ops/added.h"
#include "ops/list.h"

namespace sdx::check {
namespace {

std::string range(size_t least, size_t most) {
  if (most == kUnbounded) return fmt::format("{} or more", least);
  return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
}

}  // namespace

Callee Checker::callee(const model::Node& node, const Opsets& opsets) const {
  Callee found;
  const auto at = functions_.find({canonical(node.domain), node.op_type, node.overload});
  if (at != functions_.end()) {
    found.function = at->second;
    return found;
  }
  found.function = model::find_added_function(node);
  if (found.function != nullptr) return found;
  found.op = find_op(node.domain, node.op_type);
  const int64_t version = version_of(opsets, node.domain);
  if (found.op != nullptr && version > 0 && version <= INT32_MAX) {
    found.signature = found.op->at(static_cast<int>(version));
  }
  return found;
}

std::vector<std::string> Checker::input_lines(const model::Node& node, const Signature* signature,
                                              const Scope& scope) const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < node.input.size(); ++i) {
    const Formal* formal = signature == nullptr ? nullptr : signature->input(i);
    const std::string label = formal == nullptr ? fmt::format("input {}", i) : formal->name;
    const std::string& name = node.input[i];
    const Scope* where = nullptr;
    const Definition* definition = name.empty() ? nullptr : scope.find(name, &where);
    if (name.empty()) {
      lines.push_back(label + " = left out");
    } else if (definition == nullptr) {
      lines.push_back(fmt::format("{} = {}   nothing defines it", label, in_quotes(name)));
    } else {
      lines.push_back(fmt::format("{} = {}   {}   {}", label, in_quotes(name),
                                  type_text(definition->fact), where->producer(*definition)));
    }
  }
  return lines;
}

void Checker::nodes(Scope& scope) {
  const std::vector<model::Node>& list = *scope.nodes;
  for (size_t i = 0; i < list.size(); ++i) {
    scope.position = i;
    const Place place{scope.place, "node", list[i].name, i, &list[i], scope.opsets};
    node(list[i], scope, place);
  }
  scope.position = list.size();
}

void Checker::node(const model::Node& node, Scope& scope, const Place& place) {
  for (size_t i = 0; i < node.input.size(); ++i) {
    if (node.input[i].empty() || scope.find(node.input[i]) != nullptr) continue;
    report(rule::input_undefined, place,
           "input {} is {}; no graph input, initializer or node output has this name", i,
           in_quotes(node.input[i]));
  }
  for (const std::string& output : node.output) {
    if (!output.empty()) not_shadowing(output, scope, place);
  }
  if (node.output.empty()) report(rule::no_outputs, place, "the node has no outputs");
  metadata(node.metadata_props, rule::inner_metadata_repeated, place);
  node_configurations(node, scope, place);

  Callee called;
  if (node.op_type.empty()) {
    report(rule::op_type_missing, place, "the node names no operator");
  } else if (version_of(*scope.opsets, node.domain) == 0) {
    report(rule::domain_not_imported, place, "{} imports no version of operator set {}",
           scope.function != nullptr ? "the function" : "the model", in_quotes(shown(node.domain)));
  } else {
    called = callee(node, *scope.opsets);
    if (called.function != nullptr) {
      call(node, *called.function, scope, place);
    } else if (called.signature == nullptr || called.signature->deprecated) {
      unknown_operator(node, called, scope, place);
    } else {
      if (called.signature->experimental) {
        report(rule::experimental, place, "{} is experimental", node.op_type);
      }
      arity(node, *called.signature, scope, place);
      input_types(node, *called.signature, scope, place);
    }
  }
  attributes(node, called.signature, scope, place);
  bodies(node, called, scope, place);
  output_types(node, called, scope, place);
}

// Nobody here can say what operators such a domain has: neither ONNX, nor the model, nor the
// program.
bool Checker::is_foreign(std::string_view domain) const {
  return known_domain(domain) == nullptr && !function_domains_.contains(canonical(domain)) &&
         added_domain(domain) == 0 && !model::has_added_functions(domain) && domain != "sardonyx";
}

void Checker::unknown_operator(const model::Node& node, const Callee& called, const Scope& scope,
                               const Place& place) {
  const std::string name = fmt::format("{}.{}", shown(node.domain), node.op_type);
  const int64_t version = version_of(*scope.opsets, node.domain);
  if (!node.overload.empty()) {
    report(rule::operator_unknown, place, "no function {} has the overload {}", name,
           in_quotes(node.overload));
  } else if (called.op == nullptr && is_foreign(node.domain)) {
    Diagnostic& d =
        report(rule::operator_foreign, place,
               "operator {} is of a domain that is not known here: this build cannot run it", name);
    if (find_op("", node.op_type) != nullptr) {
      d.help = fmt::format("ai.onnx has an operator {}", node.op_type);
    } else {
      d.help = "a function in the model, or an operator added by the program, may define it";
    }
  } else if (called.op == nullptr) {
    Diagnostic& d = report(rule::operator_unknown, place, "operator {} is not known", name);
    if (find_op("", node.op_type) != nullptr && !canonical(node.domain).empty()) {
      d.help = fmt::format("ai.onnx has an operator {}", node.op_type);
    }
  } else if (called.signature == nullptr) {
    const auto& all = called.op->signatures();
    report(rule::operator_too_new, place,
           "operator {} is not in version {}; it came with version {}", name, version,
           all.empty() ? 0 : all.front().since);
  } else {
    report(rule::operator_deprecated, place, "operator {} is deprecated since version {}", name,
           called.signature->since);
  }
}

void Checker::arity(const model::Node& node, const Signature& signature, const Scope& scope,
                    const Place& place) {
  const size_t inputs = node.input.size(), outputs = node.output.size();
  if (inputs < signature.min_inputs || inputs > signature.max_inputs) {
    Diagnostic& d =
        report(rule::input_count, place, "{} has {} inputs; version {} takes {}", node.op_type,
               inputs, signature.since, range(signature.min_inputs, signature.max_inputs));
    d.inputs = input_lines(node, &signature, scope);
  }
  if (outputs != 0 && (outputs < signature.min_outputs || outputs > signature.max_outputs)) {
    report(rule::output_count, place, "{} has {} outputs; version {} gives {}", node.op_type,
           outputs, signature.since, range(signature.min_outputs, signature.max_outputs));
  }
  for (size_t i = 0; i < inputs; ++i) {
    const Formal* formal = signature.input(i);
    if (!node.input[i].empty() || formal == nullptr || formal->option != Formal::Option::single) {
      continue;
    }
    Diagnostic& d =
        report(rule::input_left_out, place, "input {} ({}) of {} is left out but not optional", i,
               formal->name, node.op_type);
    d.inputs = input_lines(node, &signature, scope);
  }
  for (size_t i = 0; i < outputs; ++i) {
    const Formal* formal = signature.output(i);
    if (!node.output[i].empty() || formal == nullptr || formal->option != Formal::Option::single) {
      continue;
    }
    report(rule::output_left_out, place, "output {} ({}) of {} is left out but not optional", i,
           formal->name, node.op_type);
  }
}

void Checker::call(const model::Node& node, const model::Function& function, const Scope& scope,
                   const Place& place) {
  const auto plural = [](size_t count) { return count == 1 ? "" : "s"; };
  if (node.input.size() > function.input.size()) {
    Diagnostic& d = report(rule::input_count, place, "function {} takes {} input{}, {} are given",
                           function.name, function.input.size(), plural(function.input.size()),
                           node.input.size());
    d.inputs = input_lines(node, nullptr, scope);
  }
  if (node.output.size() > function.output.size()) {
    report(rule::output_count, place, "function {} gives {} output{}, {} are named", function.name,
           function.output.size(), plural(function.output.size()), node.output.size());
  }
  std::vector<std::string_view> declared(function.attribute.begin(), function.attribute.end());
  for (const model::Attribute& attribute : function.attribute_proto) {
    declared.push_back(attribute.name);
  }
  for (const model::Attribute& attribute : node.attribute) {
    if (std::find(declared.begin(), declared.end(), attribute.name) != declared.end()) continue;
    Diagnostic& d = report(rule::attribute_unknown, place, "function {} has no attribute {}",
                           function.name, in_quotes(attribute.name));
    d.help = declared.empty() ? "it has no attributes"
                              : fmt::format("it has: {}", fmt::join(declared, ", "));
  }
}

}  // namespace sdx::check
