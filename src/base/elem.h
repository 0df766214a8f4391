// C++ types of tensor elements, and the conversions of the narrow floating types (round to nearest
// even, once).
#ifndef SDX_BASE_ELEM_H_
#define SDX_BASE_ELEM_H_

#include <bit>
#include <complex>
#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace sdx {

// The value of an encoded narrow float (f16, bf16, f8*, f6*, f4, e8m0). Exact.
float decode_float(DType, uint32_t bits);

// The encoding nearest to x. Out of range: the largest value if `saturate`, else infinity, or NaN
// for a type without infinities; types without NaN (f6*, f4) always saturate and take NaN as +0.
uint32_t encode_float(DType, double x, bool saturate = false);

enum class ScaleRounding { nearest, up, down };
// f8e8m0 holds powers of two only; a magnitude between two of them goes where `mode` says, never by
// the sign.
uint32_t encode_e8m0(double x, ScaleRounding mode, bool saturate);

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float);
inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
uint16_t f32_to_bf16(float);

// A narrow float held as its encoding.
template <DType kType, class Bits>
struct NarrowFloat {
  Bits bits;
  static NarrowFloat from(double x) { return {static_cast<Bits>(encode_float(kType, x))}; }
  explicit operator float() const { return decode_float(kType, bits); }
};
struct F16 {
  uint16_t bits;
  static F16 from(float x) { return {f32_to_f16(x)}; }
  explicit operator float() const { return f16_to_f32(bits); }
};
struct BF16 {
  uint16_t bits;
  static BF16 from(float x) { return {f32_to_bf16(x)}; }
  explicit operator float() const { return bf16_to_f32(bits); }
};
using F8E4M3FN = NarrowFloat<DType::f8e4m3fn, uint8_t>;
using F8E4M3FNUZ = NarrowFloat<DType::f8e4m3fnuz, uint8_t>;
using F8E5M2 = NarrowFloat<DType::f8e5m2, uint8_t>;
using F8E5M2FNUZ = NarrowFloat<DType::f8e5m2fnuz, uint8_t>;
using F8E8M0 = NarrowFloat<DType::f8e8m0, uint8_t>;

// dtype_of<float> == DType::f32. Packed types have no C++ element type: see get_bits.
template <class T>
inline constexpr DType dtype_of = DType::undefined;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<F16> = DType::f16;
template <>
inline constexpr DType dtype_of<BF16> = DType::bf16;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<uint16_t> = DType::u16;
template <>
inline constexpr DType dtype_of<int16_t> = DType::i16;
template <>
inline constexpr DType dtype_of<uint32_t> = DType::u32;
template <>
inline constexpr DType dtype_of<int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<uint64_t> = DType::u64;
template <>
inline constexpr DType dtype_of<int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;
template <>
inline constexpr DType dtype_of<std::string> = DType::string;
template <>
inline constexpr DType dtype_of<std::complex<float>> = DType::c64;
template <>
inline constexpr DType dtype_of<std::complex<double>> = DType::c128;
template <>
inline constexpr DType dtype_of<F8E4M3FN> = DType::f8e4m3fn;
template <>
inline constexpr DType dtype_of<F8E4M3FNUZ> = DType::f8e4m3fnuz;
template <>
inline constexpr DType dtype_of<F8E5M2> = DType::f8e5m2;
template <>
inline constexpr DType dtype_of<F8E5M2FNUZ> = DType::f8e5m2fnuz;
template <>
inline constexpr DType dtype_of<F8E8M0> = DType::f8e8m0;

// Element i of an array of any type of at most 64 bits, as its bits (sub-byte elements from the
// least significant bit).
uint64_t get_bits(DType, const void* data, size_t i);
void set_bits(DType, void* data, size_t i, uint64_t bits);

// Element i of any real, integer or bool type as a number, and back (rounded, wrapped to the
// integer's width). i64 and u64 beyond 2^53 lose bits through get_f64: use get_i64 for integers.
double get_f64(DType, const void* data, size_t i);
int64_t get_i64(DType, const void* data, size_t i);
void set_f64(DType, void* data, size_t i, double x);
void set_i64(DType, void* data, size_t i, int64_t x);

// Floating to integer: truncates; NaN is 0; out of range saturates. One answer on every machine.
template <class Int, class Float>
Int to_integer(Float x) {
  if (!(x == x)) return 0;
  constexpr int kBits = sizeof(Int) * 8 - (Int(-1) < Int(0) ? 1 : 0);
  const Float limit = Float(uint64_t{1} << (kBits - 1)) * Float(2);  // 2^kBits, exact
  if (x >= limit) return static_cast<Int>(~uint64_t{0} >> (64 - kBits));
  if (x <= -limit) return Int(-1) < Int(0) ? static_cast<Int>(Int(1) << kBits) : Int(0);
  if (!(Int(-1) < Int(0)) && x <= Float(-1)) return 0;
  return static_cast<Int>(x);
}

}  // namespace sdx

#endif  // SDX_BASE_ELEM_H_
