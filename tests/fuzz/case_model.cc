#include "case_model.h"

#include "model/fields.h"
#include "model/tensor.h"

namespace sdx::fuzz {
namespace {

using model::Attribute;
using model::AttributeType;
using model::set;

bool to_attribute(const std::string& name, const AttrValue& value, Attribute& a) {
  set(a, &Attribute::name, name);
  const auto kind = [&](AttributeType type) { set(a, &Attribute::type, type); };
  if (const auto* i = std::get_if<int64_t>(&value)) {
    kind(AttributeType::i);
    set(a, &Attribute::i, *i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    kind(AttributeType::f);
    set(a, &Attribute::f, *f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    kind(AttributeType::s);
    set(a, &Attribute::s, *s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    kind(AttributeType::ints);
    a.ints = *ints;
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    kind(AttributeType::floats);
    a.floats = *floats;
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    kind(AttributeType::strings);
    a.strings = *strings;
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    kind(AttributeType::t);
    a.t = model::from_tensor(*tensor);
  } else {
    return false;
  }
  return true;
}

model::Type type_of(const Fact& fact) {
  model::Type type;
  if (fact.kind == Fact::Kind::sequence) {
    model::SequenceType sequence;
    sequence.elem_type = type_of(*fact.element);
    type.value = std::move(sequence);
  } else if (fact.kind == Fact::Kind::map) {
    model::MapType map;
    set(map, &model::MapType::key_type, static_cast<int32_t>(fact.type));
    map.value_type = type_of(*fact.element);
    type.value = std::move(map);
  } else {
    model::TensorType tensor;
    set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(fact.type));
    tensor.shape.emplace();
    for (const Dim& dim : *fact.shape) tensor.shape->dim.emplace_back().value = dim.value();
    type.value = std::move(tensor);
  }
  return type;
}

}  // namespace

std::optional<model::Model> model_of(const Op& op, const Case& test, bool defaults) {
  model::Model m;
  set(m, &model::Model::ir_version, 10);
  model::OpsetId id;
  set(id, &model::OpsetId::domain, std::string(op.domain));
  set(id, &model::OpsetId::version, test.opset);
  m.opset_import.push_back(id);
  model::Graph& graph = m.graph.emplace();
  set(graph, &model::Graph::name, std::string("g"));
  model::Node node;
  set(node, &model::Node::op_type, std::string(op.name));
  if (!op.domain.empty()) set(node, &model::Node::domain, std::string(op.domain));
  for (const auto& [name, value] : test.attrs) {
    if (!to_attribute(name, value, node.attribute.emplace_back())) return std::nullopt;
  }
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Value& input = test.inputs[i];
    const std::string name = "x" + std::to_string(i);
    node.input.push_back(input.is_none() ? "" : name);
    if (input.is_none()) continue;
    if (input.is_map()) return std::nullopt;
    const Fact fact = fact_of(input);
    if (fact.is_tensor() && !fact.is_concrete()) return std::nullopt;
    if (!fact.is_tensor() && !(fact.element && fact.element->is_concrete())) return std::nullopt;
    model::ValueInfo info;
    set(info, &model::ValueInfo::name, name);
    info.type = type_of(fact);
    graph.input.push_back(std::move(info));
    if (defaults && input.is_tensor())
      graph.initializer.push_back(model::from_tensor(input.tensor(), name));
  }
  for (size_t i = 0; i < test.outputs; ++i) {
    model::ValueInfo info;
    set(info, &model::ValueInfo::name, "y" + std::to_string(i));
    node.output.push_back(info.name);
    graph.output.push_back(std::move(info));
  }
  graph.node.push_back(std::move(node));
  return m;
}

}  // namespace sdx::fuzz
