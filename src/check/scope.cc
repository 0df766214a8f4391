#include "check/scope.h"

#include <unordered_set>

#include "check/report.h"

namespace sdx::check {

int64_t version_of(const Opsets& opsets, std::string_view domain) {
  const auto at = opsets.find(canonical(domain));
  return at == opsets.end() ? 0 : at->second;
}

std::string Place::own() const {
  if (node == nullptr) {
    return name.data() == nullptr ? std::string(kind) : fmt::format("{} {}", kind, quoted(name));
  }
  std::string text = fmt::format("node {}", index);
  if (!node->name.empty()) text += " " + quoted(node->name);
  text += fmt::format(" ({}, {}", node->op_type, shown(node->domain));
  const int64_t version = opsets == nullptr ? 0 : version_of(*opsets, node->domain);
  return text + (version == 0 ? ")" : fmt::format(" {})", version));
}

std::string Place::text() const { return outer == nullptr ? own() : outer->text() + ", " + own(); }

const Definition* Scope::own(std::string_view name) const {
  const auto at = defined.find(name);
  return at == defined.end() ? nullptr : &at->second;
}

const Definition* Scope::find(std::string_view name, const Scope** where) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    if (const Definition* found = scope->own(name)) {
      if (where != nullptr) *where = scope;
      return found;
    }
  }
  return nullptr;
}

std::string Scope::producer(const Definition& definition) const {
  switch (definition.kind) {
    case Definition::Kind::input:
      return function != nullptr && !subgraph ? "function input" : "graph input";
    case Definition::Kind::initializer:
      return "initializer";
    default:
      return node_text(*nodes, definition.node);
  }
}

Fact Scope::fact(std::string_view name) const {
  const Definition* definition = name.empty() ? nullptr : find(name);
  return definition == nullptr ? Fact{} : definition->fact;
}

std::string node_text(const std::vector<model::Node>& nodes, size_t index) {
  const model::Node& node = nodes[index];
  const std::string name = node.name.empty() ? "" : " " + quoted(node.name);
  return fmt::format("node {}{} ({})", index, name, node.op_type);
}

namespace {

template <class Visit>
void each_subgraph(const model::Node& node, const Visit& visit) {
  for (const model::Attribute& attribute : node.attribute) {
    if (attribute.g) visit(*attribute.g);
    for (const model::Graph& graph : attribute.graphs) visit(graph);
  }
}

}  // namespace

void free_names(const model::Graph& graph, std::vector<std::string_view>& into) {
  std::unordered_set<std::string_view> defined;
  for (const model::ValueInfo& input : graph.input) defined.insert(input.name);
  for (const model::TensorData& init : graph.initializer) defined.insert(init.name);
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) defined.insert(init.values->name);
  }
  for (const model::Node& node : graph.node) defined.insert(node.output.begin(), node.output.end());
  for (const model::Node& node : graph.node) {
    for (const std::string_view name : names_used(node)) {
      if (!defined.contains(name)) into.push_back(name);
    }
  }
  for (const model::ValueInfo& output : graph.output) {
    if (!defined.contains(output.name)) into.push_back(output.name);
  }
}

std::vector<std::string_view> names_used(const model::Node& node) {
  std::vector<std::string_view> names;
  for (const std::string& name : node.input) {
    if (!name.empty()) names.push_back(name);
  }
  each_subgraph(node, [&](const model::Graph& graph) { free_names(graph, names); });
  return names;
}

Fact fact_of(const model::Type& type) {
  const auto tensor = [](DType element, const std::optional<model::Shape>& declared) {
    Fact fact = Fact::tensor(element);
    if (!declared) return fact;
    fact.shape.emplace();
    for (const model::Dimension& dim : declared->dim) {
      const int64_t* number = dim.number();
      const std::string* param = dim.param();
      fact.shape->push_back(number != nullptr && *number >= 0     ? Dim(*number)
                            : param != nullptr && !param->empty() ? Dim::symbol(*param)
                                                                  : Dim::unknown());
    }
    return fact;
  };
  const auto inner = [](const model::Box<model::Type>& boxed) {
    return boxed ? fact_of(*boxed) : Fact::tensor(DType::undefined);
  };
  if (const model::TensorType* t = type.tensor()) return tensor(t->dtype(), t->shape);
  if (const model::SparseTensorType* t = type.sparse_tensor()) return tensor(t->dtype(), t->shape);
  if (const model::SequenceType* t = type.sequence()) return Fact::sequence(inner(t->elem_type));
  if (const model::OptionalType* t = type.optional()) return Fact::optional_of(inner(t->elem_type));
  if (const model::MapType* t = type.map()) {
    return Fact::map(valid(t->key_type) ? static_cast<DType>(t->key_type) : DType::undefined,
                     inner(t->value_type));
  }
  return {};
}

std::string type_text(const Fact& fact) {
  if (!fact.present()) return "unknown type";
  if (!fact.is_tensor()) return fact.onnx_type();
  std::string text(onnx_name(fact.type));
  if (!fact.has_rank()) return text;
  text += " [";
  for (size_t axis = 0; axis < fact.rank(); ++axis) {
    text += (axis == 0 ? "" : ",") + fact.dim(axis).text();
  }
  return text + "]";
}

}  // namespace sdx::check
