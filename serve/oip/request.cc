#include "serve/oip/request.h"

#include <charconv>
#include <cstring>

namespace sardonyx::serve {
namespace {

struct Datatype {
  Type type;
  std::string_view name;
  size_t bits;
};
constexpr Datatype kDatatypes[] = {
    {Type::f32, "FP32", 32},
    {Type::u8, "UINT8", 8},
    {Type::i8, "INT8", 8},
    {Type::u16, "UINT16", 16},
    {Type::i16, "INT16", 16},
    {Type::i32, "INT32", 32},
    {Type::i64, "INT64", 64},
    {Type::string, "BYTES", 0},
    {Type::boolean, "BOOL", 8},
    {Type::f16, "FP16", 16},
    {Type::f64, "FP64", 64},
    {Type::u32, "UINT32", 32},
    {Type::u64, "UINT64", 64},
    {Type::c64, "COMPLEX64", 64},
    {Type::c128, "COMPLEX128", 128},
    {Type::bf16, "BF16", 16},
    {Type::f8e4m3fn, "FP8E4M3FN", 8},
    {Type::f8e4m3fnuz, "FP8E4M3FNUZ", 8},
    {Type::f8e5m2, "FP8E5M2", 8},
    {Type::f8e5m2fnuz, "FP8E5M2FNUZ", 8},
    {Type::u4, "UINT4", 4},
    {Type::i4, "INT4", 4},
    {Type::f4e2m1, "FP4E2M1", 4},
    {Type::f8e8m0, "FP8E8M0", 8},
    {Type::u2, "UINT2", 2},
    {Type::i2, "INT2", 2},
    {Type::f6e2m3, "FP6E2M3", 6},
    {Type::f6e3m2, "FP6E3M2", 6},
};

const Datatype* datatype(Type type) {
  for (const Datatype& entry : kDatatypes) {
    if (entry.type == type) return &entry;
  }
  return nullptr;
}

Failure wrong_size(std::string_view name, Type type, const Dims& dims, size_t expected,
                   size_t found) {
  return {Kind::bad_request, "SDX-V0301: input \"" + std::string(name) + "\" of " +
                                 std::string(datatype_of(type)) + text_of(dims) + " needs " +
                                 std::to_string(expected) + " bytes and has " +
                                 std::to_string(found)};
}

Outcome<Tensor> strings_of_bytes(Dims dims, size_t count, std::string_view bytes,
                                 std::string_view name) {
  const auto wrong = [&](const std::string& what) {
    return Failure{Kind::bad_request,
                   "SDX-V0302: input \"" + std::string(name) + "\" of BYTES " + what};
  };
  if (count > bytes.size() / 4) return wrong("is too short for its shape");
  Tensor tensor(Type::string, std::move(dims));
  const auto values = tensor.values<std::string>();
  for (std::string& value : values) {
    uint32_t size = 0;
    if (bytes.size() < 4) return wrong("ends within a length");
    std::memcpy(&size, bytes.data(), 4);
    bytes.remove_prefix(4);
    if (bytes.size() < size) return wrong("ends within a string");
    value.assign(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  if (!bytes.empty()) return wrong("holds more than its shape says");
  return tensor;
}

}  // namespace

std::string_view datatype_of(Type type) {
  const Datatype* entry = datatype(type);
  return entry == nullptr ? "UNDEFINED" : entry->name;
}

Type type_of_datatype(std::string_view name) {
  for (const Datatype& entry : kDatatypes) {
    if (entry.name == name) return entry.type;
  }
  return Type::undefined;
}

size_t element_bytes(Type type) {
  const Datatype* entry = datatype(type);
  return entry == nullptr || entry->bits % 8 != 0 ? 0 : entry->bits / 8;
}

size_t packed_bytes(Type type, size_t count) {
  const Datatype* entry = datatype(type);
  return entry == nullptr ? 0 : (count * entry->bits + 7) / 8;
}

std::optional<size_t> count_of(const Dims& dims) {
  size_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    if (!empty && (static_cast<uint64_t>(dim) > (uint64_t{1} << 48) / count)) return std::nullopt;
    if (!empty) count *= static_cast<size_t>(dim);
  }
  return empty ? 0 : count;
}

void append_dims(std::string& to, const Dims& dims) {
  to += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    char text[24];
    if (i > 0) to += ',';
    to.append(text, std::to_chars(text, text + sizeof text, dims[i]).ptr);
  }
  to += ']';
}

std::string text_of(const Dims& dims) {
  std::string text;
  append_dims(text, dims);
  return text;
}

Outcome<Tensor> tensor_of_bytes(Type type, Dims dims, std::string_view bytes, std::string_view name,
                                bool may_look_into) {
  const std::optional<size_t> count = count_of(dims);
  if (!count || dims.size() > 64) {
    return Failure{Kind::bad_request, "SDX-V0303: input \"" + std::string(name) +
                                          "\" has the impossible shape " + text_of(dims)};
  }
  if (type == Type::string) return strings_of_bytes(std::move(dims), *count, bytes, name);
  const size_t expected = packed_bytes(type, *count);
  if (expected != bytes.size()) return wrong_size(name, type, dims, expected, bytes.size());
  if (type == Type::boolean) {
    for (const char byte : bytes) {
      if (byte != 0 && byte != 1) {
        return Failure{Kind::bad_request, "SDX-V0304: input \"" + std::string(name) +
                                              "\" of BOOL holds a byte that is neither 0 nor 1"};
      }
    }
  }
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % 64 == 0;
  if (may_look_into && aligned && *count > 0) {
    return Tensor(type, std::move(dims), const_cast<char*>(bytes.data()));
  }
  Tensor tensor(type, std::move(dims));
  if (expected > 0) std::memcpy(tensor.data(), bytes.data(), expected);
  return tensor;
}

std::string string_bytes(const Tensor& tensor) {
  std::string bytes;
  for (const std::string& value : tensor.values<std::string>()) {
    const auto size = static_cast<uint32_t>(value.size());
    bytes.append(reinterpret_cast<const char*>(&size), 4);
    bytes.append(value);
  }
  return bytes;
}

std::string SharedPlace::set(std::string_view name, const Parameter& value) {
  if (name == "shared_memory_region") {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return "SDX-V0308: \"shared_memory_region\" is not a string";
    region = *text;
    return "";
  }
  const auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr || *number < 0)
    return "SDX-V0309: parameter \"" + std::string(name) + "\" is not a count";
  if (name == "shared_memory_offset") {
    offset = static_cast<uint64_t>(*number);
  } else if (name == "shared_memory_byte_size") {
    bytes = static_cast<uint64_t>(*number);
  }
  return "";
}

std::string InferRequest::set(std::string_view name, const Parameter& value) {
  const auto boolean = [&](bool& to) -> std::string {
    if (const bool* b = std::get_if<bool>(&value)) {
      to = *b;
      return "";
    }
    return "SDX-V0305: parameter \"" + std::string(name) + "\" is not a boolean";
  };
  const auto number = [&](int64_t& to) -> std::string {
    if (const int64_t* n = std::get_if<int64_t>(&value); n != nullptr && *n >= 0) {
      to = *n;
      return "";
    }
    return "SDX-V0306: parameter \"" + std::string(name) + "\" is not a count";
  };
  if (name == "binary_data_output") return boolean(binary_outputs);
  if (name == "digest") return boolean(digest);
  if (name == "priority") return number(priority);
  if (name == "timeout") return number(timeout_us);
  if (name == "sequence_start") return boolean(sequence_start);
  if (name == "sequence_end") return boolean(sequence_end);
  if (name == "sequence_id") {
    if (const auto* text = std::get_if<std::string>(&value)) {
      sequence = *text;
    } else if (const auto* n = std::get_if<int64_t>(&value)) {
      sequence = *n == 0 ? "" : std::to_string(*n);
    } else {
      return "SDX-V0307: parameter \"sequence_id\" is neither a number nor a string";
    }
    return "";
  }
  others.emplace_back(name, value);
  return "";
}

}  // namespace sardonyx::serve
