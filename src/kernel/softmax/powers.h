// What the softmax of rows is made of, for the *.isa.cc files of this folder: the extremes of a
// vector and powers of what is not positive.
#pragma once

#include "kernel/math/math_isa.h"

namespace sdx::SDX_ISA {

inline constexpr float kMinusInfinity = -__builtin_inff();

// Of numbers; which of two zeros it is does not matter.
SDX_INLINE float greatest(F32x16 a) {
#if defined(SDX_ISA_avx512)
  return _mm512_reduce_max_ps(a.v);
#elif defined(SDX_ISA_avx2)
  const __m256 eight = _mm256_max_ps(a.lo.v, a.hi.v);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
#elif defined(SDX_ISA_neon)
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.lo.lo.v, a.lo.hi.v), vmaxq_f32(a.hi.lo.v, a.hi.hi.v)));
#else
  return tree(a, [](float x, float y) { return x > y ? x : y; });
#endif
}

SDX_INLINE float smallest(F32x16 a) {
#if defined(SDX_ISA_avx512)
  return _mm512_reduce_min_ps(a.v);
#elif defined(SDX_ISA_neon)
  return vminvq_f32(vminq_f32(vminq_f32(a.lo.lo.v, a.lo.hi.v), vminq_f32(a.hi.lo.v, a.hi.hi.v)));
#else
  return tree(a, [](float x, float y) { return x < y ? x : y; });
#endif
}

// e^x for x <= 0, with the bits of lanes::exp; some NaN for NaN. Far below, as behind a row's end
// and under masks, no power is taken: one that underflows is many times slower.
template <class F>
SDX_INLINE F power(F x) {
  const auto far = x <= F(-104.0f);
  const auto e = lanes::exp_parts(select(far, F(0.0f), x));
  return select(far, F(0.0f), ldexp(e.hi, e.n));
}

// Powers below this one are divided by an instruction.
inline constexpr float kSmall = 0x1p-77f;

// The power of this is not below it.
inline constexpr float kNotSmall = -53.0f;

// The same for x from kNotSmall to 0, where the power of two is an addition to the exponent.
template <class F>
SDX_INLINE F near_power(F x) {
  const auto e = lanes::exp_parts(x);
#if defined(SDX_ISA_avx2) || defined(SDX_ISA_neon)
  return from_bits(bits(e.hi) + (to_i32(e.n) << 23));  // n of a NaN is 0 there in its low bits
#else
  return ldexp(e.hi, e.n);
#endif
}

}  // namespace sdx::SDX_ISA
