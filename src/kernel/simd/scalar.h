// One lane with the interface of f32x16.h, so that one template of an elementary function is both
// the scalar reference and the vector body.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel/simd/soft.h"

namespace sdx::one {

struct M {
  using Mask = M;
  using Scalar = bool;
  bool m;
  friend SDX_INLINE M operator&(M a, M b) { return {a.m && b.m}; }
  friend SDX_INLINE M operator|(M a, M b) { return {a.m || b.m}; }
  friend SDX_INLINE M operator~(M a) { return {!a.m}; }
  friend SDX_INLINE bool any(M a) { return a.m; }
  friend SDX_INLINE bool all(M a) { return a.m; }
};

struct F32;
struct F64;

// Integers wrap: the sums are taken on the unsigned type.
template <class T, class U, class F>
struct Int {
  using Scalar = T;
  using Mask = M;
  using Float = F;
  static constexpr int kLanes = 1;
  static Int load(const T* p) { return *p; }
  void store(T* p) const { *p = v; }
  T v;
  Int() = default;
  Int(T x) : v(x) {}
  friend SDX_INLINE Int operator+(Int a, Int b) { return T(U(a.v) + U(b.v)); }
  friend SDX_INLINE Int operator-(Int a, Int b) { return T(U(a.v) - U(b.v)); }
  friend SDX_INLINE Int operator&(Int a, Int b) { return T(a.v & b.v); }
  friend SDX_INLINE Int operator|(Int a, Int b) { return T(a.v | b.v); }
  friend SDX_INLINE Int operator^(Int a, Int b) { return T(a.v ^ b.v); }
  friend SDX_INLINE Int operator<<(Int a, int n) { return T(U(a.v) << n); }
  friend SDX_INLINE Int operator>>(Int a, int n) { return T(a.v >> n); }
  friend SDX_INLINE Int shift_right_logical(Int a, int n) { return T(U(a.v) >> n); }
  friend SDX_INLINE M operator==(Int a, Int b) { return {a.v == b.v}; }
  friend SDX_INLINE M operator<(Int a, Int b) { return {a.v < b.v}; }
  friend SDX_INLINE M operator>(Int a, Int b) { return {a.v > b.v}; }
  friend SDX_INLINE Int select(M m, Int a, Int b) { return m.m ? a : b; }
};
using I32 = Int<int32_t, uint32_t, F32>;
using I64 = Int<int64_t, uint64_t, F64>;

#define SDX_SCALAR_FLOAT(F, T)                                            \
  static constexpr int kLanes = 1;                                        \
  static F load(const T* p) { return *p; }                                \
  void store(T* p) const { *p = v; }                                      \
  T v;                                                                    \
  F() = default;                                                          \
  F(T x) : v(x) {}                                                        \
  friend SDX_INLINE F operator+(F a, F b) { return a.v + b.v; }           \
  friend SDX_INLINE F operator-(F a, F b) { return a.v - b.v; }           \
  friend SDX_INLINE F operator*(F a, F b) { return a.v * b.v; }           \
  friend SDX_INLINE F operator/(F a, F b) { return a.v / b.v; }           \
  friend SDX_INLINE M operator==(F a, F b) { return {a.v == b.v}; }       \
  friend SDX_INLINE M operator!=(F a, F b) { return {a.v != b.v}; }       \
  friend SDX_INLINE M operator<(F a, F b) { return {a.v < b.v}; }         \
  friend SDX_INLINE M operator<=(F a, F b) { return {a.v <= b.v}; }       \
  friend SDX_INLINE M operator>(F a, F b) { return {a.v > b.v}; }         \
  friend SDX_INLINE M operator>=(F a, F b) { return {a.v >= b.v}; }       \
  friend SDX_INLINE F select(M m, F a, F b) { return m.m ? a : b; }       \
  friend SDX_INLINE F min_raw(F a, F b) { return a.v < b.v ? a.v : b.v; } \
  friend SDX_INLINE F max_raw(F a, F b) { return a.v > b.v ? a.v : b.v; }

struct F64 {
  using Scalar = double;
  using Int = I64;
  using Mask = M;
  SDX_SCALAR_FLOAT(F64, double)
};
struct F32 {
  using Scalar = float;
  using Int = I32;
  using Mask = M;
  using Wide = F64;
  SDX_SCALAR_FLOAT(F32, float)
};
#undef SDX_SCALAR_FLOAT

SDX_INLINE I32 bits(F32 a) {
  int32_t i;
  memcpy(&i, &a.v, 4);
  return i;
}
SDX_INLINE F32 from_bits(I32 a) {
  float f;
  memcpy(&f, &a.v, 4);
  return f;
}
SDX_INLINE I64 bits(F64 a) {
  int64_t i;
  memcpy(&i, &a.v, 8);
  return i;
}
SDX_INLINE F64 from_bits(I64 a) {
  double f;
  memcpy(&f, &a.v, 8);
  return f;
}
SDX_INLINE F64 to_f64(F32 a) { return double(a.v); }
SDX_INLINE F32 to_f32(F64 a) { return float(a.v); }
SDX_INLINE F32 to_f32(I32 a) { return float(a.v); }
SDX_INLINE I32 to_i32(F32 a) { return int32_t(a.v); }
SDX_INLINE F32 sqrt(F32 a) { return __builtin_sqrtf(a.v); }
SDX_INLINE F64 sqrt(F64 a) { return __builtin_sqrt(a.v); }
// The C library's: the machine's instruction where there is one, and always one rounding.
SDX_INLINE F32 fma(F32 a, F32 b, F32 c) { return __builtin_fmaf(a.v, b.v, c.v); }
SDX_INLINE F32 round_even(F32 a) { return soft::round_even(a); }
SDX_INLINE F32 floor(F32 a) { return soft::floor(a); }
SDX_INLINE F32 ceil(F32 a) { return soft::ceil(a); }
SDX_INLINE F32 trunc(F32 a) { return soft::trunc(a); }
SDX_INLINE F32 ldexp(F32 a, I32 n) { return soft::ldexp(a, n); }
SDX_INLINE F32 ldexp(F32 a, F32 n) { return soft::ldexp(a, to_i32(n)); }
SDX_INLINE F32 lookup(const float (&table)[16], I32 index) { return table[index.v & 15]; }
SDX_INLINE F32 widen_f16(I32 h) { return soft::widen_f16(h); }
SDX_INLINE I32 narrow_f16(F32 a) { return soft::narrow_f16(a); }

}  // namespace sdx::one
