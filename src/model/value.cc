#include "model/fields.h"
#include "model/io.h"
#include "model/tensor.h"

namespace sdx::model {
namespace {

std::string_view name(ValueKind kind) {
  switch (kind) {
    case ValueKind::tensor:
      return "tensor";
    case ValueKind::sparse_tensor:
      return "sparse tensor";
    case ValueKind::sequence:
      return "sequence";
    case ValueKind::map:
      return "map";
    case ValueKind::optional:
      return "optional";
    default:
      return "undefined";
  }
}

Result<Value> to_value(const TensorData& tensor) {
  SDX_ASSIGN(Tensor made, to_tensor(tensor));
  return Value(std::move(made));
}
Result<Value> to_value(const SparseTensorData& sparse) {
  SDX_ASSIGN(Tensor made, to_dense(sparse));
  return Value(std::move(made));
}

template <class Items>
Status append(const Items& items, Sequence& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    auto value = to_value(items[i]);
    if (!value) return std::move(value).error().in(fmt::format("sequence element {}", i));
    out.push_back(*std::move(value));
  }
  return ok();
}

template <class M>
Result<Value> required(const Box<M>& item, ValueKind kind) {
  if (!item)
    return fail("SDX-M0301", "an optional says that it holds a {} and holds none", name(kind));
  return to_value(*item);
}

ValueKind kind_of(const Type& type) {
  if (type.tensor() != nullptr) return ValueKind::tensor;
  if (type.sparse_tensor() != nullptr) return ValueKind::sparse_tensor;
  if (type.sequence() != nullptr) return ValueKind::sequence;
  if (type.map() != nullptr) return ValueKind::map;
  if (type.optional() != nullptr) return ValueKind::optional;
  return ValueKind::undefined;
}

template <class M>
Result<Value> read_as(const std::string& path) {
  SDX_ASSIGN(const M message, read_message_file<M>(path));
  auto value = to_value(message);
  if (!value) return std::move(value).error().in(path);
  return value;
}

Error mismatch(std::string_view expected) {
  return fail("SDX-M0303", "the value is not a {}, which its type says", expected);
}

Result<SequenceData> sequence_from(const Value& value, const Type& element);

Result<MapData> map_from(const Value& value, const MapType& type) {
  if (!value.is_map()) return mismatch("map");
  if (!type.value_type) return fail("SDX-M0302", "a map type has no value type");
  MapData map;
  map.key_type = type.key_type;
  Sequence values;
  for (const auto& [key, item] : value.map()) {
    if (const int64_t* number = std::get_if<int64_t>(&key)) {
      map.keys.push_back(*number);
    } else {
      map.string_keys.push_back(std::get<std::string>(key));
    }
    values.push_back(item);
  }
  SDX_ASSIGN(map.values, sequence_from(Value::of(std::move(values)), *type.value_type));
  return map;
}

Result<OptionalData> optional_from(const Value& value, const Type& element) {
  OptionalData optional;
  if (value.is_none()) return optional;
  const ValueKind kind = kind_of(element);
  optional.elem_type = kind;
  if (value.is_tensor()) {
    optional.elem_type = ValueKind::tensor;
    optional.tensor_value = from_tensor(value.tensor());
  } else if (kind == ValueKind::sequence && element.sequence()->elem_type) {
    SDX_ASSIGN(optional.sequence_value, sequence_from(value, *element.sequence()->elem_type));
  } else if (kind == ValueKind::map) {
    SDX_ASSIGN(optional.map_value, map_from(value, *element.map()));
  } else {
    return mismatch(name(kind));
  }
  return optional;
}

Result<SequenceData> sequence_from(const Value& value, const Type& element) {
  if (!value.is_sequence()) return mismatch("sequence");
  SequenceData sequence;
  sequence.elem_type = kind_of(element);
  for (const Value& item : value.sequence()) {
    switch (sequence.elem_type) {
      case ValueKind::tensor:
        if (!item.is_tensor()) return mismatch("tensor");
        sequence.tensor_values.push_back(from_tensor(item.tensor()));
        break;
      case ValueKind::sequence: {
        if (!element.sequence()->elem_type)
          return fail("SDX-M0302", "a sequence type has no element type");
        SDX_ASSIGN(auto inner, sequence_from(item, *element.sequence()->elem_type));
        sequence.sequence_values.push_back(std::move(inner));
        break;
      }
      case ValueKind::map: {
        SDX_ASSIGN(auto inner, map_from(item, *element.map()));
        sequence.map_values.push_back(std::move(inner));
        break;
      }
      case ValueKind::optional: {
        if (!element.optional()->elem_type)
          return fail("SDX-M0302", "an optional type has no element type");
        SDX_ASSIGN(auto inner, optional_from(item, *element.optional()->elem_type));
        sequence.optional_values.push_back(std::move(inner));
        break;
      }
      default:
        return fail("SDX-M0302", "a sequence of {} cannot be written", name(sequence.elem_type));
    }
  }
  return sequence;
}

}  // namespace

Result<Value> to_value(const SequenceData& sequence) {
  Sequence items;
  switch (sequence.elem_type) {
    case ValueKind::tensor:
      SDX_TRY(append(sequence.tensor_values, items));
      break;
    case ValueKind::sparse_tensor:
      SDX_TRY(append(sequence.sparse_tensor_values, items));
      break;
    case ValueKind::sequence:
      SDX_TRY(append(sequence.sequence_values, items));
      break;
    case ValueKind::map:
      SDX_TRY(append(sequence.map_values, items));
      break;
    case ValueKind::optional:
      SDX_TRY(append(sequence.optional_values, items));
      break;
    default:
      return fail("SDX-M0302", "a sequence has element kind {}",
                  static_cast<int32_t>(sequence.elem_type));
  }
  return Value::of(std::move(items));
}

Result<Value> to_value(const MapData& map) {
  if (!map.values) return fail("SDX-M0301", "a map has no values");
  SDX_ASSIGN(const Value values, to_value(*map.values));
  const Sequence& items = values.sequence();
  const bool strings = map.key_type == static_cast<int32_t>(DType::string);
  const size_t keys = strings ? map.string_keys.size() : map.keys.size();
  if (keys != items.size())
    return fail("SDX-M0301", "a map has {} keys and {} values", keys, items.size());
  Map out;
  for (size_t i = 0; i < keys; ++i) {
    MapKey key = strings ? MapKey(map.string_keys[i]) : MapKey(map.keys[i]);
    if (!out.emplace(std::move(key), items[i]).second) {
      return fail("SDX-M0301", "key {} of a map stands twice", i);
    }
  }
  return Value::of(std::move(out));
}

Result<Value> to_value(const OptionalData& optional) {
  switch (optional.elem_type) {
    case ValueKind::undefined:
      return Value();
    case ValueKind::tensor:
      return required(optional.tensor_value, ValueKind::tensor);
    case ValueKind::sparse_tensor:
      return required(optional.sparse_tensor_value, ValueKind::sparse_tensor);
    case ValueKind::sequence:
      return required(optional.sequence_value, ValueKind::sequence);
    case ValueKind::map:
      return required(optional.map_value, ValueKind::map);
    case ValueKind::optional:
      return required(optional.optional_value, ValueKind::optional);
  }
  return fail("SDX-M0302", "an optional has element kind {}",
              static_cast<int32_t>(optional.elem_type));
}

Result<Value> read_value_file(const std::string& path, const Type& type) {
  switch (kind_of(type)) {
    case ValueKind::tensor:
      return read_as<TensorData>(path);
    case ValueKind::sparse_tensor:
      return read_as<SparseTensorData>(path);
    case ValueKind::sequence:
      return read_as<SequenceData>(path);
    case ValueKind::map:
      return read_as<MapData>(path);
    case ValueKind::optional:
      return read_as<OptionalData>(path);
    default:
      return fail("SDX-M0302", "values of this type cannot be read").in(path);
  }
}

Status write_value_file(const Value& value, const Type& type, const std::string& path,
                        std::string name) {
  const ValueKind kind = kind_of(type);
  const auto write_named = [&](auto made) -> Status {
    if (!made) return std::move(made).error().in(path);
    made->name = std::move(name);
    return write_file(*made, path);
  };
  if (kind == ValueKind::sequence && type.sequence()->elem_type) {
    return write_named(sequence_from(value, *type.sequence()->elem_type));
  }
  if (kind == ValueKind::map) return write_named(map_from(value, *type.map()));
  if (kind == ValueKind::optional && type.optional()->elem_type) {
    return write_named(optional_from(value, *type.optional()->elem_type));
  }
  if (!value.is_tensor()) return mismatch("tensor").in(path);
  return write_file(from_tensor(value.tensor(), std::move(name)), path);
}

}  // namespace sdx::model
