// Sixteen virtual lanes: the unit in which the numerics rule speaks of sums, here as a vector type
// of a *.isa.cc file.
//
// The layer is this project's own and not Highway because a vector here has 16 lanes on every
// machine (one register on avx512, two on avx2, four on portable and neon) and fma is one rounding
// on every machine; Highway 1.0.3 multiplies and adds with two roundings where the target has no
// fused instruction, and leaves the width to the target. Every operation below gives the same bits
// at every level, except for the payload and sign of a NaN: canonical() ends whatever leaves a
// kernel.
//
// Types: F32x16, I32x16, M16 (mask of 32-bit lanes), F64x16 (sixteen doubles), I64x16. A scalar
// converts to a vector of equal lanes. Operators: + - * / and comparisons on floats; + - & | ^ <<
// >> == < > on integers; & | ~ on masks. Functions: select(m, a, b), any, all, fma, sqrt, floor,
// ceil, trunc, round_even, ldexp, bits, from_bits, to_f64, to_f32, to_i32, min_raw, max_raw (a < b
// ? a : b), shift_right_logical, lookup (the table's element at the low four bits of each lane),
// and those below. scalar.h has the same for one lane.
#pragma once

#include "kernel/simd/generic.h"
#include "kernel/simd/native.h"
#include "kernel/simd/scalar.h"

namespace sdx::SDX_ISA {

#if defined(SDX_ISA_avx512)
using F32x16 = F32;
using I32x16 = I32;
using M16 = M32;
#elif defined(SDX_ISA_avx2)
using F32x16 = Pair<F32>;
using I32x16 = Pair<I32>;
using M16 = Pair<M32>;
#else
using F32x16 = Pair<Pair<F32>>;
using I32x16 = Pair<Pair<I32>>;
using M16 = Pair<Pair<M32>>;
#endif
using F64x16 = F32x16::Wide;
using I64x16 = F64x16::Int;
static_assert(F32x16::kLanes == 16 && F64x16::kLanes == 16);

SDX_INLINE F32x16 load(const float* p) { return F32x16::load(p); }
SDX_INLINE void store(float* p, F32x16 a) { a.store(p); }

#if defined(SDX_ISA_avx2)
SDX_INLINE __m256i first_of_eight(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

// The first `count` (0 to 16) floats at p; the other lanes are `fill`. Nothing behind them is read
// or written.
SDX_INLINE F32x16 load_n(const float* p, size_t count, float fill = 0.0f) {
#if defined(SDX_ISA_avx512)
  return _mm512_mask_loadu_ps(F32x16(fill).v, __mmask16((1u << count) - 1), p);
#elif defined(SDX_ISA_avx2)
  const auto part = [fill](const float* from, __m256i in) {
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(from, in),
                            _mm256_castsi256_ps(in));
  };
  return {F32(part(p, first_of_eight(int(count)))),
          F32(part(p + 8, first_of_eight(int(count) - 8)))};
#else
  float lanes[16];
  F32x16(fill).store(lanes);
  memcpy(lanes, p, count * sizeof(float));
  return F32x16::load(lanes);
#endif
}
SDX_INLINE void store_n(float* p, F32x16 a, size_t count) {
#if defined(SDX_ISA_avx512)
  _mm512_mask_storeu_ps(p, __mmask16((1u << count) - 1), a.v);
#elif defined(SDX_ISA_avx2)
  // In powers of two: a masked store takes a dozen cycles and more on AMD's.
  __m256 eight = a.lo.v;
  if (count >= 8) {
    _mm256_storeu_ps(p, eight);
    p += 8;
    eight = a.hi.v;
    if (count == 16) return _mm256_storeu_ps(p, eight);
  }
  __m128 four = _mm256_castps256_ps128(eight);
  if ((count & 4) != 0) {
    _mm_storeu_ps(p, four);
    p += 4;
    four = _mm256_extractf128_ps(eight, 1);
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), four);
    p += 2;
    four = _mm_movehl_ps(four, four);
  }
  if ((count & 1) != 0) _mm_store_ss(p, four);
#else
  float lanes[16];
  a.store(lanes);
  memcpy(p, lanes, count * sizeof(float));
#endif
}

// Sixteen 16-bit values: as integers, and as halves widened by the machine or by soft.h.
template <class F>
struct U16Lanes {
  SDX_INLINE static auto integers(const uint16_t* p) { return load_u16(p); }
  SDX_INLINE static auto halves(const uint16_t* p) { return load_u16_as_f16(p); }
};
template <class F>
struct U16Lanes<Pair<F>> {
  using Part = U16Lanes<F>;
  SDX_INLINE static typename Pair<F>::Int integers(const uint16_t* p) {
    return {Part::integers(p), Part::integers(p + F::kLanes)};
  }
  SDX_INLINE static Pair<F> halves(const uint16_t* p) {
    return {Part::halves(p), Part::halves(p + F::kLanes)};
  }
};

// float16 and bfloat16, to nearest with ties to even; denormals are kept, every NaN is 0x7e00,
// 0x7fc0 or 0x7fc00000.
SDX_INLINE F32x16 load_f16(const uint16_t* p) {
  return lanes::canonical(U16Lanes<F32x16>::halves(p));
}
SDX_INLINE F32x16 load_bf16(const uint16_t* p) {
  return lanes::widen_bf16(U16Lanes<F32x16>::integers(p));
}
SDX_INLINE void store_f16(uint16_t* p, F32x16 a) { store_f16_raw(p, lanes::canonical(a)); }
SDX_INLINE void store_bf16(uint16_t* p, F32x16 a) { store_u16(p, lanes::narrow_bf16(a)); }

// The fixed tree: l[j] += l[j + 8], then + 4, + 2, + 1.
template <class Add>
SDX_INLINE float tree(F32x16 a, Add add) {
  float l[16];
  a.store(l);
  for (int step = 8; step > 0; step /= 2) {
    for (int j = 0; j < step; ++j) l[j] = add(l[j], l[j + step]);
  }
  return l[0];
}
SDX_INLINE float sum(F32x16 a) {
#if defined(__x86_64__)
#if defined(SDX_ISA_avx512)
  const __m256 eight = _mm512_castps512_ps256(a.v) + _mm512_extractf32x8_ps(a.v, 1);
  const __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
#elif defined(SDX_ISA_avx2)
  const __m256 eight = (a.lo + a.hi).v;
  const __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
#else
  const auto eight = a.lo + a.hi;
  const __m128 four = (eight.lo + eight.hi).v;
#endif
  const __m128 two = four + _mm_movehl_ps(four, four);
  return two[0] + two[1];
#elif defined(SDX_ISA_neon)
  const auto eight = a.lo + a.hi;
  const float32x4_t four = (eight.lo + eight.hi).v;
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
#else
  return tree(a, [](float x, float y) { return x + y; });
#endif
}
// NaN if any lane is NaN; +0 is greater than -0.
SDX_INLINE float max(F32x16 a) {
  return tree(a, [](float x, float y) { return lanes::max(one::F32(x), one::F32(y)).v; });
}
SDX_INLINE float min(F32x16 a) {
  return tree(a, [](float x, float y) { return lanes::min(one::F32(x), one::F32(y)).v; });
}

}  // namespace sdx::SDX_ISA
