// Element types: all 28 of ONNX 1.23, with ONNX's numbers.
#ifndef SDX_BASE_DTYPE_H_
#define SDX_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sdx {

enum class DType : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
  f6e2m3 = 27,
  f6e3m2 = 28,
};
inline constexpr int kDTypeCount = 29;  // with undefined

// Bits of one element as stored: 4-, 2- and 6-bit types are packed from the least significant bit.
// Strings: 0.
size_t bits(DType);
// Bytes that `count` packed elements take; std::string objects for strings.
size_t bytes_for(DType, size_t count);

std::string_view short_name(DType);  // "f32", "bool", "i4"
std::string_view onnx_name(DType);   // "float", "bool", "int4": as in ONNX's "tensor(float)"
std::optional<DType> dtype_from_short(std::string_view);
std::optional<DType> dtype_from_onnx(std::string_view);
inline bool valid(int64_t onnx_number) { return onnx_number >= 1 && onnx_number < kDTypeCount; }

bool is_float(DType);    // every binary floating type, of any width; not complex
bool is_integer(DType);  // signed or unsigned, of any width; not bool
bool is_signed(DType);   // signed integers and floating types that have a sign
bool is_complex(DType);
inline bool is_packed(DType t) { return bits(t) % 8 != 0; }

}  // namespace sdx

#endif  // SDX_BASE_DTYPE_H_
