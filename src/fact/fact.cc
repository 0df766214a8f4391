#include "fact/fact.h"

#include <algorithm>

namespace sdx {

Fact::Fact() = default;
Fact::Fact(const Fact&) = default;
Fact::Fact(Fact&&) noexcept = default;
Fact& Fact::operator=(const Fact&) = default;
Fact& Fact::operator=(Fact&&) noexcept = default;
Fact::~Fact() = default;

Fact Fact::tensor(DType type) {
  Fact fact;
  fact.kind = Kind::tensor;
  fact.type = type;
  return fact;
}

Fact Fact::tensor(DType type, Shape shape) {
  Fact fact = tensor(type);
  fact.shape = std::move(shape);
  return fact;
}

namespace {

Fact holding(Fact::Kind kind, DType key, Fact element) {
  Fact fact;
  fact.kind = kind;
  fact.type = key;
  fact.element = std::make_shared<const Fact>(std::move(element));
  return fact;
}

}  // namespace

Fact Fact::sequence(Fact element) {
  return holding(Kind::sequence, DType::undefined, std::move(element));
}

Fact Fact::optional_of(Fact element) {
  return holding(Kind::optional, DType::undefined, std::move(element));
}

Fact Fact::map(DType key, Fact value) { return holding(Kind::map, key, std::move(value)); }

Fact Fact::constant(Tensor value) {
  Fact fact = tensor(value.type(), shape_of(value.dims()));
  fact.value = std::make_shared<const Tensor>(std::move(value));
  return fact;
}

bool Fact::is_concrete() const {
  return is_tensor() && shape &&
         std::all_of(shape->begin(), shape->end(), [](const Dim& dim) { return dim.is_const(); });
}

Dims Fact::dims() const { return *constant_dims(*shape); }

std::optional<std::vector<Dim>> Fact::integers() const {
  if (symbolic) return symbolic;
  // Large integer constants are data (quantised weights, tables), never shapes or axes.
  constexpr size_t kMost = 4096;
  if (!value || value->count() > kMost ||
      !(is_integer(value->type()) || value->type() == DType::boolean)) {
    return std::nullopt;
  }
  std::vector<Dim> result;
  result.reserve(value->count());
  for (size_t i = 0; i < value->count(); ++i)
    result.emplace_back(get_i64(value->type(), value->raw(), i));
  return result;
}

std::optional<std::vector<int64_t>> Fact::constant_integers() const {
  const auto dims = integers();
  return dims ? constant_dims(*dims) : std::nullopt;
}

std::string Fact::text() const {
  switch (kind) {
    case Kind::absent:
      return "nothing";
    case Kind::sequence:
      return "seq(" + element->text() + ")";
    case Kind::optional:
      return "optional(" + element->text() + ")";
    case Kind::map:
      return "map(" + std::string(short_name(type)) + "," + element->text() + ")";
    case Kind::tensor:
      break;
  }
  const std::string name = type == DType::undefined ? "?" : std::string(short_name(type));
  return shape ? name + to_string(*shape) : name + "[..]";
}

std::string Fact::onnx_type() const {
  switch (kind) {
    case Kind::absent:
      return "";
    case Kind::sequence:
      return "seq(" + element->onnx_type() + ")";
    case Kind::optional:
      return "optional(" + element->onnx_type() + ")";
    case Kind::map: {
      // ONNX writes map values without "tensor(...)" around scalars.
      const std::string value =
          element->is_tensor() ? std::string(onnx_name(element->type)) : element->onnx_type();
      return "map(" + std::string(onnx_name(type)) + ", " + value + ")";
    }
    case Kind::tensor:
      break;
  }
  return "tensor(" + std::string(onnx_name(type)) + ")";
}

Fact fact_of(const Value& value) {
  if (value.is_tensor())
    return Fact::tensor(value.tensor().type(), shape_of(value.tensor().dims()));
  if (value.is_sequence()) {
    const Sequence& items = value.sequence();
    if (items.empty()) return Fact::sequence(Fact::tensor(DType::undefined));
    Fact first = fact_of(items[0]);
    for (const Value& item : items) {
      // Elements may differ in shape: keep what they agree on.
      const Fact fact = fact_of(item);
      if (first.shape && (!fact.shape || fact.shape->size() != first.shape->size()))
        first.shape.reset();
      for (size_t i = 0; first.shape && i < first.shape->size(); ++i) {
        if (!((*first.shape)[i] == fact.dim(i))) (*first.shape)[i] = Dim::unknown();
      }
    }
    return Fact::sequence(std::move(first));
  }
  if (value.is_map()) {
    const Map& items = value.map();
    if (items.empty()) return Fact::map(DType::i64, Fact::tensor(DType::undefined, Shape{}));
    const bool strings = std::holds_alternative<std::string>(items.begin()->first);
    return Fact::map(strings ? DType::string : DType::i64, fact_of(items.begin()->second));
  }
  return Fact::optional_of(Fact::tensor(DType::undefined));
}

bool admits(const Fact& fact, const Value& value) {
  switch (fact.kind) {
    case Fact::Kind::absent:
      return value.is_none();
    case Fact::Kind::optional:
      return value.is_none() || admits(*fact.element, value);
    case Fact::Kind::sequence:
      return value.is_sequence() &&
             std::all_of(value.sequence().begin(), value.sequence().end(),
                         [&](const Value& v) { return admits(*fact.element, v); });
    case Fact::Kind::map:
      return value.is_map() &&
             std::all_of(value.map().begin(), value.map().end(), [&](const auto& entry) {
               return std::holds_alternative<std::string>(entry.first) ==
                          (fact.type == DType::string) &&
                      admits(*fact.element, entry.second);
             });
    case Fact::Kind::tensor:
      break;
  }
  if (!value.is_tensor()) return false;
  const Tensor& tensor = value.tensor();
  if (fact.type != DType::undefined && tensor.type() != fact.type) return false;
  if (!fact.shape) return true;
  if (tensor.rank() != fact.rank()) return false;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (fact.dim(i).is_const() && fact.dim(i).value() != tensor.dims()[i]) return false;
  }
  return true;
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    // Shapes align at the last axis; missing leading axes are 1.
    const Dim x = i + a.size() >= result.size() ? a[i + a.size() - result.size()] : Dim(1);
    const Dim y = i + b.size() >= result.size() ? b[i + b.size() - result.size()] : Dim(1);
    Result<Dim> both = broadcast(x, y);
    if (!both) {
      Error error =
          fail("SDX-T0102", "shapes {} and {} do not broadcast: dimension {} is {} against {}",
               to_string(a), to_string(b), i, x.text(), y.text());
      error.help =
          "ONNX broadcasts from the last dimension; each pair must be equal or one of them 1";
      return error;
    }
    result[i] = *both;
  }
  return result;
}

}  // namespace sdx

template class std::vector<sdx::Fact>;
