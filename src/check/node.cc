// Nodes: what they call, and whether they keep to its signature.
#include <fmt/ranges.h>

#include <algorithm>

#include "check/checker.h"
#include "model/library.h"
#include "op/conform.h"
#include "ops/list.h"

namespace sdx::check {
namespace {

std::string range(size_t least, size_t most) {
  if (most == kUnbounded) return fmt::format("{} or more", least);
  return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
}

// The element type that an attribute states for output 0; undefined if none does.
DType stated_type(const model::Node& node) {
  const std::string_view by_number = node.op_type == "Cast" ? "to" : "dtype";
  if (const model::Attribute* a = node.find(by_number); a != nullptr && valid(a->i)) {
    return static_cast<DType>(a->i);
  }
  if (node.op_type == "Constant" || node.op_type == "ConstantOfShape") {
    for (const model::Attribute& a : node.attribute) {
      if (a.t) return a.t->dtype();
      if (a.name == "value_float" || a.name == "value_floats") return DType::f32;
      if (a.name == "value_int" || a.name == "value_ints") return DType::i64;
      if (a.name == "value_string" || a.name == "value_strings") return DType::string;
    }
    if (node.op_type == "ConstantOfShape") return DType::f32;
  }
  return DType::undefined;
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
      lines.push_back(fmt::format("{} = {}   nothing defines it", label, quoted(name)));
    } else {
      lines.push_back(fmt::format("{} = {}   {}   {}", label, quoted(name),
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
           quoted(node.input[i]));
  }
  for (const std::string& output : node.output) {
    if (!output.empty()) not_shadowing(output, scope, place);
  }
  if (node.output.empty()) report(rule::no_outputs, place, "the node has no outputs");
  metadata(node.metadata_props, rule::inner_metadata_repeated, place);
  node_configurations(node, place);

  Callee called;
  if (node.op_type.empty()) {
    report(rule::op_type_missing, place, "the node names no operator");
  } else if (version_of(*scope.opsets, node.domain) == 0) {
    report(rule::domain_not_imported, place, "{} imports no version of operator set {}",
           scope.function != nullptr ? "the function" : "the model", quoted(shown(node.domain)));
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
    }
  }
  attributes(node, called.signature, scope, place);
  output_facts(node, called, scope);
  if (called.op != nullptr && canonical(node.domain).empty() && node.op_type == "If") {
    if_branches(node, place);
  }
}

void Checker::unknown_operator(const model::Node& node, const Callee& called, const Scope& scope,
                               const Place& place) {
  const std::string name = fmt::format("{}.{}", shown(node.domain), node.op_type);
  const int64_t version = version_of(*scope.opsets, node.domain);
  if (!node.overload.empty()) {
    report(rule::operator_unknown, place, "no function {} has the overload {}", name,
           quoted(node.overload));
  } else if (called.op == nullptr) {
    Diagnostic& d = report(rule::operator_unknown, place, "operator {} is not known", name);
    if (find_op("", node.op_type) != nullptr && !canonical(node.domain).empty()) {
      d.help = fmt::format("ai.onnx has an operator {}", node.op_type);
    } else if (known_domain(node.domain) == nullptr) {
      d.help = "operators of other domains need a function in the model that defines them";
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
                           function.name, quoted(attribute.name));
    d.help = declared.empty() ? "it has no attributes"
                              : fmt::format("it has: {}", fmt::join(declared, ", "));
  }
}

void Checker::if_branches(const model::Node& node, const Place& place) {
  const model::Attribute* branches[] = {node.find("then_branch"), node.find("else_branch")};
  if (branches[0] == nullptr || branches[1] == nullptr || !branches[0]->g || !branches[1]->g) {
    return;
  }
  const model::Graph &a = *branches[0]->g, &b = *branches[1]->g;
  if (a.output.size() != b.output.size() || a.output.size() != node.output.size()) {
    report(rule::branches, place,
           "then_branch gives {} outputs, else_branch {}, the node names {}; expected equal counts",
           a.output.size(), b.output.size(), node.output.size());
    return;
  }
  for (size_t i = 0; i < a.output.size(); ++i) {
    if (!a.output[i].type || !b.output[i].type) continue;
    const Fact then_fact = fact_of(*a.output[i].type), else_fact = fact_of(*b.output[i].type);
    const bool open = !then_fact.present() || !else_fact.present();
    if (open || then_fact.onnx_type() == else_fact.onnx_type()) continue;
    if ((then_fact.is_tensor() && then_fact.type == DType::undefined) ||
        (else_fact.is_tensor() && else_fact.type == DType::undefined)) {
      continue;
    }
    report(rule::branches, place, "output {} is {} in then_branch and {} in else_branch", i,
           type_text(then_fact), type_text(else_fact));
  }
}

void Checker::output_facts(const model::Node& node, const Callee& called, Scope& scope) {
  if (called.signature == nullptr) return;
  Facts in;
  for (size_t i = 0; i < node.output.size(); ++i) {
    const auto at = scope.defined.find(node.output[i]);
    if (at == scope.defined.end() || at->second.fact.present()) continue;
    if (const DType stated = i == 0 ? stated_type(node) : DType::undefined;
        stated != DType::undefined) {
      at->second.fact = Fact::tensor(stated);
      continue;
    }
    if (in.empty()) {
      for (const std::string& name : node.input) in.push_back(scope.fact(name));
    }
    const std::string type = output_type(*called.signature, in, i);
    if (!type.starts_with("tensor(")) continue;
    if (const auto element = dtype_from_onnx(type.substr(7, type.size() - 8))) {
      at->second.fact = Fact::tensor(*element);
    }
  }
}

}  // namespace sdx::check
