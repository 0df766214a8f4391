#include "check/declared.h"

#include <fmt/format.h>

namespace sdx::check {
namespace {

Dim size_of(const model::Dimension& dim, std::string_view scope, size_t axis) {
  const int64_t* number = dim.number();
  const std::string* param = dim.param();
  if (number != nullptr && *number >= 0) return Dim(*number);
  if (param != nullptr && !param->empty() && *param != "*") return Dim::symbol(*param);
  return scope.empty() ? Dim::unknown() : Dim::symbol(fmt::format("?{}.{}", scope, axis));
}

Fact tensor_of(DType type, const std::optional<model::Shape>& declared, std::string_view scope) {
  Fact fact = Fact::tensor(type);
  if (!declared) return fact;
  fact.shape.emplace();
  for (size_t axis = 0; axis < declared->dim.size(); ++axis)
    fact.shape->push_back(size_of(declared->dim[axis], scope, axis));
  return fact;
}

}  // namespace

Fact fact_of(const model::Type& type, std::string_view scope) {
  const auto inner = [&](const model::Box<model::Type>& boxed) {
    const Fact fact = boxed ? fact_of(*boxed, scope) : Fact{};
    return fact.present() ? fact : Fact::tensor(DType::undefined);
  };
  if (const auto* t = type.tensor()) return tensor_of(t->dtype(), t->shape, scope);
  if (const auto* t = type.sparse_tensor()) return tensor_of(t->dtype(), t->shape, scope);
  if (const auto* t = type.sequence()) return Fact::sequence(inner(t->elem_type));
  if (const auto* t = type.optional()) return Fact::optional_of(inner(t->elem_type));
  if (const auto* t = type.map()) {
    return Fact::map(valid(t->key_type) ? static_cast<DType>(t->key_type) : DType::undefined,
                     inner(t->value_type));
  }
  return {};
}

Fact declared_fact(const model::ValueInfo& info) {
  const Fact fact = info.type ? fact_of(*info.type, info.name) : Fact{};
  return fact.present() ? fact : Fact::tensor(DType::undefined);
}

}  // namespace sdx::check
