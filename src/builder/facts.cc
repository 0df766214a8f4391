// Facts and attributes of the public header as the engine's, and back.
#include <algorithm>

#include "api/bridge.h"
#include "builder/state.h"

namespace sardonyx {
namespace detail {

sdx::Fact in(const Fact& fact, const std::string& scope) {
  switch (fact.kind) {
    case Fact::Kind::absent:
      return {};
    case Fact::Kind::sequence:
      return sdx::Fact::sequence(in(*fact.element, scope));
    case Fact::Kind::optional:
      return sdx::Fact::optional_of(in(*fact.element, scope));
    case Fact::Kind::map:
      return sdx::Fact::map(static_cast<sdx::DType>(fact.type), in(*fact.element, scope));
    case Fact::Kind::tensor:
      break;
  }
  const auto type = static_cast<sdx::DType>(fact.type);
  if (!fact.dims) return sdx::Fact::tensor(type);
  sdx::Shape shape;
  for (size_t axis = 0; axis < fact.dims->size(); ++axis) {
    const Dim& dim = (*fact.dims)[axis];
    if (dim.number) {
      shape.emplace_back(*dim.number);
    } else {
      shape.push_back(
          sdx::Dim::symbol(dim.name.empty() ? fmt::format("?{}.{}", scope, axis) : dim.name));
    }
  }
  return sdx::Fact::tensor(type, std::move(shape));
}

Fact out(const sdx::Fact& fact) {
  switch (fact.kind) {
    case sdx::Fact::Kind::absent:
      return {};
    case sdx::Fact::Kind::sequence:
      return Fact::sequence(out(*fact.element));
    case sdx::Fact::Kind::optional:
      return Fact::optional(out(*fact.element));
    case sdx::Fact::Kind::map:
      return Fact::map(static_cast<Type>(fact.type), out(*fact.element));
    case sdx::Fact::Kind::tensor:
      break;
  }
  Fact made = Fact::tensor(static_cast<Type>(fact.type));
  if (!fact.shape) return made;
  made.dims.emplace();
  for (const sdx::Dim& dim : *fact.shape) {
    const std::string text = dim.text();
    made.dims->push_back(dim.is_const()          ? Dim(dim.value())
                         : text.starts_with('?') ? Dim()
                                                 : Dim(text));
  }
  return made;
}

sdx::AttrValue in(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> sdx::AttrValue {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return Bridge::in(value).copy();
        } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
          std::vector<sdx::Tensor> tensors;
          for (const Tensor& tensor : value) tensors.push_back(Bridge::in(tensor).copy());
          return tensors;
        } else if constexpr (std::is_same_v<T, Fact>) {
          return in(value, "type");
        } else {
          return value;
        }
      },
      attribute.held());
}

}  // namespace detail

std::string Fact::text() const { return detail::in(*this, "").text(); }

}  // namespace sardonyx
