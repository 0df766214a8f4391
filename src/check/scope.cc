#include "check/scope.h"

#include "check/report.h"

namespace sdx::check {

int64_t version_of(const Opsets& opsets, std::string_view domain) {
  const auto at = opsets.find(canonical(domain));
  return at == opsets.end() ? 0 : at->second;
}

std::string Place::own() const {
  if (node == nullptr) {
    return name.data() == nullptr ? std::string(kind) : fmt::format("{} {}", kind, in_quotes(name));
  }
  std::string text = fmt::format("node {}", index);
  if (!node->name.empty()) text += " " + in_quotes(node->name);
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
  const std::string name = node.name.empty() ? "" : " " + in_quotes(node.name);
  return fmt::format("node {}{} ({})", index, name, node.op_type);
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
