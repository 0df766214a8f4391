#include "base/dtype.h"

#include <array>
#include <string>

namespace sdx {
namespace {

enum Kind : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kString, kComplex };

struct Row {
  std::string_view short_name, onnx_name;
  uint8_t bits;
  Kind kind;
};

// Indexed by ONNX's number.
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"undefined", "undefined", 0, kNone},
    {"f32", "float", 32, kFloat},
    {"u8", "uint8", 8, kUnsigned},
    {"i8", "int8", 8, kSigned},
    {"u16", "uint16", 16, kUnsigned},
    {"i16", "int16", 16, kSigned},
    {"i32", "int32", 32, kSigned},
    {"i64", "int64", 64, kSigned},
    {"string", "string", 0, kString},
    {"bool", "bool", 8, kBool},
    {"f16", "float16", 16, kFloat},
    {"f64", "double", 64, kFloat},
    {"u32", "uint32", 32, kUnsigned},
    {"u64", "uint64", 64, kUnsigned},
    {"c64", "complex64", 64, kComplex},
    {"c128", "complex128", 128, kComplex},
    {"bf16", "bfloat16", 16, kFloat},
    {"f8e4m3fn", "float8e4m3fn", 8, kFloat},
    {"f8e4m3fnuz", "float8e4m3fnuz", 8, kFloat},
    {"f8e5m2", "float8e5m2", 8, kFloat},
    {"f8e5m2fnuz", "float8e5m2fnuz", 8, kFloat},
    {"u4", "uint4", 4, kUnsigned},
    {"i4", "int4", 4, kSigned},
    {"f4e2m1", "float4e2m1", 4, kFloat},
    {"f8e8m0", "float8e8m0", 8, kFloat},
    {"u2", "uint2", 2, kUnsigned},
    {"i2", "int2", 2, kSigned},
    {"f6e2m3", "float6e2m3", 6, kFloat},
    {"f6e3m2", "float6e3m2", 6, kFloat},
}};

const Row& row(DType t) { return kRows[static_cast<size_t>(t)]; }

std::optional<DType> find(std::string_view name, std::string_view Row::*column) {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].*column == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace

size_t bits(DType t) { return row(t).bits; }

size_t bytes_for(DType t, size_t count) {
  if (t == DType::string) return count * sizeof(std::string);
  const size_t b = bits(t);
  if (b >= 8) return count * (b / 8);
  return count / 8 * b + (count % 8 * b + 7) / 8;  // without overflow of count * b
}

std::string_view short_name(DType t) { return row(t).short_name; }
std::string_view onnx_name(DType t) { return row(t).onnx_name; }
std::optional<DType> dtype_from_short(std::string_view name) {
  return find(name, &Row::short_name);
}
std::optional<DType> dtype_from_onnx(std::string_view name) { return find(name, &Row::onnx_name); }
bool is_float(DType t) { return row(t).kind == kFloat; }
bool is_integer(DType t) { return row(t).kind == kSigned || row(t).kind == kUnsigned; }
bool is_signed(DType t) { return row(t).kind == kSigned || (is_float(t) && t != DType::f8e8m0); }
bool is_complex(DType t) { return row(t).kind == kComplex; }

}  // namespace sdx
