// Types of nodes: that inputs fit the operator's signature, and that what is declared for outputs
// is what the operator gives. Shapes are the business of typing.
#include "check/checker.h"
#include "op/conform.h"

namespace sdx::check {
namespace {

// The element type that an attribute states for output 0; undefined if none does.
DType stated_type(const model::Node& node, const Signature& signature) {
  const std::string_view by_number = node.op_type == "Cast" ? "to" : "dtype";
  if (const model::Attribute* a = node.find(by_number); a != nullptr) {
    if (valid(a->i)) return static_cast<DType>(a->i);
  } else if (const AttrDecl* decl = signature.attribute(by_number);
             decl != nullptr && decl->fallback) {
    const auto* number = std::get_if<int64_t>(&*decl->fallback);
    if (number != nullptr && valid(*number)) return static_cast<DType>(*number);
  }
  if (node.op_type == "Constant" || node.op_type == "ConstantOfShape") {
    for (const model::Attribute& a : node.attribute) {
      if (a.t) return a.t->dtype();
      if (a.sparse_tensor && a.sparse_tensor->values) return a.sparse_tensor->values->dtype();
      if (a.name == "value_float" || a.name == "value_floats") return DType::f32;
      if (a.name == "value_int" || a.name == "value_ints") return DType::i64;
      if (a.name == "value_string" || a.name == "value_strings") return DType::string;
    }
    if (node.op_type == "ConstantOfShape") return DType::f32;
  }
  return DType::undefined;
}

// "seq(tensor(float))" as a fact; absent for what has no such form here.
Fact from_text(std::string_view type) {
  const auto inside = [&](std::string_view opening) -> std::string_view {
    if (!type.starts_with(opening) || !type.ends_with(')')) return {};
    return type.substr(opening.size(), type.size() - opening.size() - 1);
  };
  if (const auto element = inside("tensor("); !element.empty()) {
    const auto known = dtype_from_onnx(element);
    return known ? Fact::tensor(*known) : Fact{};
  }
  if (const auto element = inside("seq("); !element.empty()) {
    Fact fact = from_text(element);
    return fact.present() ? Fact::sequence(std::move(fact)) : Fact{};
  }
  if (const auto element = inside("optional("); !element.empty()) {
    Fact fact = from_text(element);
    return fact.present() ? Fact::optional_of(std::move(fact)) : Fact{};
  }
  return {};
}

bool open_type(const Fact& fact) {
  return !fact.present() || fact.onnx_type().find("undefined") != std::string::npos;
}

}  // namespace

bool same_type(const Fact& a, const Fact& b) {
  return open_type(a) || open_type(b) || a.onnx_type() == b.onnx_type();
}

bool agree(const Fact& a, const Fact& b) {
  if (!same_type(a, b)) return false;
  if (!a.is_tensor() || !b.is_tensor() || !a.has_rank() || !b.has_rank()) return true;
  if (a.rank() != b.rank()) return false;
  for (size_t axis = 0; axis < a.rank(); ++axis) {
    const bool known = a.dim(axis).is_const() && b.dim(axis).is_const();
    if (known && !(a.dim(axis) == b.dim(axis))) return false;
  }
  return true;
}

void Checker::input_types(const model::Node& node, const Signature& signature, const Scope& scope,
                          const Place& place) {
  Facts in;
  for (const std::string& name : node.input) in.push_back(scope.fact(name));
  const size_t outputs = std::max(node.output.size(), signature.min_outputs);
  const Status status =
      conforms(signature, in, in.size(), std::min(outputs, signature.max_outputs));
  if (status || status.error().code != "SDX-T0101") return;  // counts are judged by arity()
  Diagnostic& d = report(rule::input_type, place, "{}: {}", node.op_type, status.error().what);
  d.inputs = input_lines(node, &signature, scope);
  d.help = status.error().help;
}

void Checker::give_output(const std::string& name, const Fact& fact, Scope& scope,
                          const Place& place) {
  const auto at = scope.defined.find(name);
  if (at == scope.defined.end() || !fact.present()) return;
  Definition& definition = at->second;
  if (definition.kind != Definition::Kind::node || definition.node != scope.position) return;
  if (!definition.fact.present()) {
    definition.fact = fact;
  } else if (!same_type(definition.fact, fact)) {
    report(rule::output_type, place, "output {} is declared as {}; the operator gives {}",
           in_quotes(name), definition.fact.onnx_type(), fact.onnx_type())
        .value = name;
  } else if (open_type(definition.fact)) {
    definition.fact = fact;
  }
}

void Checker::output_types(const model::Node& node, const Callee& called, Scope& scope,
                           const Place& place) {
  if (called.signature == nullptr) return;
  Facts in;
  for (const std::string& name : node.input) in.push_back(scope.fact(name));
  for (size_t i = 0; i < node.output.size(); ++i) {
    const Formal* formal = called.signature->output(i);
    if (node.output[i].empty() || formal == nullptr) continue;
    const bool sequence = formal->type == "S" || formal->type.starts_with("seq(");
    if (const DType stated =
            i == 0 && !sequence ? stated_type(node, *called.signature) : DType::undefined;
        stated != DType::undefined) {
      give_output(node.output[i], Fact::tensor(stated), scope, place);
      continue;
    }
    give_output(node.output[i], from_text(output_type(*called.signature, in, i)), scope, place);
  }
}

}  // namespace sdx::check
