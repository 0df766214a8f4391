// Attributes: one name, one type, one value, and those that the operator declares.
#include <fmt/ranges.h>

#include "check/checker.h"
#include "check/text.h"

namespace sdx::check {
namespace {

using model::Attribute;
using model::AttributeType;

std::string_view name_of(AttributeType type) {
  const auto number = static_cast<int32_t>(type);
  return number >= 0 && number <= 14 ? attr_type_name(static_cast<AttrType>(number)) : "unknown";
}

// The types of the value fields that are filled.
std::vector<AttributeType> filled(const Attribute& a) {
  std::vector<AttributeType> types;
  const auto look = [&](bool there, AttributeType type) {
    if (there) types.push_back(type);
  };
  look(has(a, &Attribute::f), AttributeType::f);
  look(has(a, &Attribute::i), AttributeType::i);
  look(has(a, &Attribute::s), AttributeType::s);
  look(a.t.has_value(), AttributeType::t);
  look(a.g.has_value(), AttributeType::g);
  look(!a.floats.empty(), AttributeType::floats);
  look(!a.ints.empty(), AttributeType::ints);
  look(!a.strings.empty(), AttributeType::strings);
  look(!a.tensors.empty(), AttributeType::tensors);
  look(!a.graphs.empty(), AttributeType::graphs);
  look(a.sparse_tensor.has_value(), AttributeType::sparse_tensor);
  look(!a.sparse_tensors.empty(), AttributeType::sparse_tensors);
  look(a.tp.has_value(), AttributeType::type);
  look(!a.type_protos.empty(), AttributeType::types);
  return types;
}

// Numbers, strings and lists may be written as nothing at all: their default.
bool has_default(AttributeType type) {
  return type != AttributeType::t && type != AttributeType::g && type != AttributeType::type &&
         type != AttributeType::sparse_tensor;
}

bool is_list(AttributeType type) {
  return type == AttributeType::floats || type == AttributeType::ints ||
         type == AttributeType::strings;
}

bool declares(const model::Function& function, std::string_view name) {
  for (const std::string& attribute : function.attribute) {
    if (attribute == name) return true;
  }
  for (const Attribute& attribute : function.attribute_proto) {
    if (attribute.name == name) return true;
  }
  return false;
}

}  // namespace

void Checker::attributes(const model::Node& node, const Signature* signature, Scope& scope,
                         const Place& place) {
  std::set<std::string_view> seen;
  for (const Attribute& a : node.attribute) {
    const Place here = place.in("attribute", a.name);
    attribute(a, scope.function, here);
    attribute_texts(a, node, here);
    attribute_parts(a, scope, here);
    if (!a.name.empty() && !seen.insert(a.name).second) {
      report(rule::attribute_repeated, place, "attribute {} is given twice", in_quotes(a.name));
    }
    if (signature == nullptr || a.name.empty() || a.name.starts_with("__")) continue;
    const AttrDecl* declared = signature->attribute(a.name);
    if (declared == nullptr) {
      std::vector<std::string_view> known;
      for (const AttrDecl& decl : signature->attributes) known.push_back(decl.name);
      Diagnostic& d = report(rule::attribute_unknown, place, "{} of version {} has no attribute {}",
                             node.op_type, signature->since, in_quotes(a.name));
      d.help = known.empty() ? "it has no attributes"
                             : fmt::format("it has: {}", fmt::join(known, ", "));
      continue;
    }
    const std::vector<AttributeType> values = filled(a);
    const AttributeType found =
        a.type == AttributeType::undefined && values.size() == 1 ? values[0] : a.type;
    const auto expected = static_cast<AttributeType>(declared->type);
    const bool empty_list = values.empty() && is_list(found) && is_list(expected);
    if (found != AttributeType::undefined && found != expected && !empty_list) {
      report(rule::attribute_kind, here, "attribute {} of {} is of type {}; expected {}",
             in_quotes(a.name), node.op_type, name_of(found), name_of(expected));
    }
  }
  if (signature == nullptr) return;
  for (const AttrDecl& declared : signature->attributes) {
    if (declared.required && !seen.contains(declared.name)) {
      report(rule::attribute_required, place, "{} needs the attribute {} ({}), which is not given",
             node.op_type, in_quotes(declared.name), attr_type_name(declared.type));
    }
  }
}

void Checker::attribute(const Attribute& a, const model::Function* function, const Place& place) {
  if (a.name.empty()) report(rule::attribute_name, place, "the attribute has no name");
  const auto number = static_cast<int32_t>(a.type);
  if (number < 0 || number > 14) {
    report(rule::attribute_type, place, "the attribute's type is {}, which is none of ONNX's",
           number);
    return;
  }
  if (a.type == AttributeType::undefined && model_.ir_version >= 2) {
    report(rule::attribute_type, place, "the attribute states no type");
  }
  const std::vector<AttributeType> values = filled(a);
  if (!a.ref_attr_name.empty()) {
    if (function == nullptr) {
      report(rule::reference_outside, place,
             "the attribute refers to {} of a function, but stands in none",
             in_quotes(a.ref_attr_name));
    } else if (!values.empty()) {
      report(rule::reference_outside, place, "the attribute refers to {} and has a value too",
             in_quotes(a.ref_attr_name));
    } else if (!declares(*function, a.ref_attr_name)) {
      report(rule::reference_unknown, place, "function {} has no attribute {}", function->name,
             in_quotes(a.ref_attr_name));
    }
    return;
  }
  if (values.size() > 1) {
    std::vector<std::string_view> kinds;
    for (const AttributeType type : values) kinds.push_back(name_of(type));
    report(rule::attribute_value, place, "the attribute has {} values: {}; expected one",
           values.size(), fmt::join(kinds, ", "));
  } else if (values.empty() && !has_default(a.type)) {
    report(rule::attribute_value, place, "the attribute is of type {} but has no value",
           name_of(a.type));
  } else if (values.size() == 1 && a.type != AttributeType::undefined && values[0] != a.type) {
    report(rule::attribute_value, place, "the attribute is of type {} but its value is of type {}",
           name_of(a.type), name_of(values[0]));
  }
}

// Other vendors' operators carry binary data in strings; everybody accepts that.
void Checker::attribute_texts(const Attribute& a, const model::Node& node, const Place& place) {
  const bool foreign = known_domain(node.domain) == nullptr;
  const auto look = [&](const std::string& text) {
    if (is_utf8(text)) return true;
    add(rule::attribute_text, foreign ? Severity::warning : rule::attribute_text.severity, place,
        fmt::format("the attribute's value {} is not UTF-8", in_quotes(text)));
    return false;
  };
  if (!look(a.s)) return;
  for (const std::string& text : a.strings) {
    if (!look(text)) return;
  }
}

void Checker::attribute_parts(const Attribute& a, Scope& scope, const Place& place) {
  if (a.t) tensor(*a.t, place);
  for (const model::TensorData& t : a.tensors) tensor(t, place);
  if (a.sparse_tensor) sparse(*a.sparse_tensor, place);
  for (const model::SparseTensorData& t : a.sparse_tensors) sparse(t, place);
  if (a.tp) type(*a.tp, false, place);
  for (const model::Type& t : a.type_protos) type(t, false, place);
  const auto body = [&](const model::Graph& g) {
    graph(g, &scope, place.in("graph", g.name), *scope.opsets, scope.function, Role::subgraph);
  };
  if (a.g) body(*a.g);
  for (const model::Graph& g : a.graphs) body(g);
}

}  // namespace sdx::check
