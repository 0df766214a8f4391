// Vec: one SIMD register of floats of the level being compiled, with an exact fused multiply-add at
// every level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
#include <immintrin.h>
#endif

namespace sdx::SDX_ISA {

#if defined(SDX_ISA_avx512)

using Vec = __m512;
inline constexpr int kLanes = 16;
inline Vec vec_zero() { return _mm512_setzero_ps(); }
inline Vec vec_set(float x) { return _mm512_set1_ps(x); }
inline Vec vec_load(const float* p) { return _mm512_loadu_ps(p); }
inline void vec_store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
// The first n < kLanes lanes; the others read as +0 and are not written.
inline __mmask16 vec_first(size_t n) { return __mmask16((1u << n) - 1); }
inline Vec vec_load(const float* p, size_t n) { return _mm512_maskz_loadu_ps(vec_first(n), p); }
inline void vec_store(float* p, Vec v, size_t n) { _mm512_mask_storeu_ps(p, vec_first(n), v); }
inline Vec vec_add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec vec_mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec vec_fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// Any NaN becomes the canonical one.
inline Vec vec_canonical(Vec v) {
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_mov_ps(v, nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

#elif defined(SDX_ISA_avx2)

using Vec = __m256;
inline constexpr int kLanes = 8;
inline Vec vec_zero() { return _mm256_setzero_ps(); }
inline Vec vec_set(float x) { return _mm256_set1_ps(x); }
inline Vec vec_load(const float* p) { return _mm256_loadu_ps(p); }
inline void vec_store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline __m256i vec_first(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vec vec_load(const float* p, size_t n) { return _mm256_maskload_ps(p, vec_first(n)); }
inline void vec_store(float* p, Vec v, size_t n) { _mm256_maskstore_ps(p, vec_first(n), v); }
inline Vec vec_add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec vec_mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec vec_fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec vec_canonical(Vec v) {
  const Vec nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  return _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), nan);
}

#else

typedef float Vec __attribute__((vector_size(16)));
inline constexpr int kLanes = 4;
inline Vec vec_zero() { return Vec{}; }
inline Vec vec_set(float x) { return Vec{x, x, x, x}; }
inline Vec vec_load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void vec_store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
inline Vec vec_load(const float* p, size_t n) {
  Vec v{};
  std::memcpy(&v, p, n * sizeof(float));
  return v;
}
inline void vec_store(float* p, Vec v, size_t n) { std::memcpy(p, &v, n * sizeof(float)); }
inline Vec vec_add(Vec a, Vec b) { return a + b; }
inline Vec vec_mul(Vec a, Vec b) { return a * b; }

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline Vec vec_fma(Vec a, Vec b, Vec c) {
  for (int i = 0; i < kLanes; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
#else
typedef double Pair __attribute__((vector_size(16)));
typedef int64_t PairBits __attribute__((vector_size(16)));

// a * b is exact in double. Their sum with c is rounded to odd (the inexact result whose last bit
// is 1), after which the rounding to float is the only one that counts: 53 >= 2 * 24 + 2 bits.
inline Pair fma_to_odd(Pair a, Pair b, Pair c) {
  const Pair product = a * b;
  const Pair sum = product + c;
  const Pair back = sum - product;
  const Pair error = (product - (sum - back)) + (c - back);  // exact; NaN if the sum is inf or NaN
  const PairBits bits = (PairBits)sum;
  const PairBits even = (bits & 1) - 1;
  const PairBits inexact = (error > 0.0) | (error < 0.0);
  const PairBits toward_zero = ((PairBits)error ^ bits) < 0;
  const PairBits step = 1 + 2 * toward_zero;  // the neighbour on the error's side
  return (Pair)(bits + (step & even & inexact));
}

inline Vec vec_fma(Vec a, Vec b, Vec c) {
  const Pair low = fma_to_odd(Pair{a[0], a[1]}, Pair{b[0], b[1]}, Pair{c[0], c[1]});
  const Pair high = fma_to_odd(Pair{a[2], a[3]}, Pair{b[2], b[3]}, Pair{c[2], c[3]});
  return Vec{float(low[0]), float(low[1]), float(high[0]), float(high[1])};
}
#endif

inline Vec vec_canonical(Vec v) {
  typedef int32_t Bits __attribute__((vector_size(16)));
  const Bits nan = v != v;
  return (Vec)(((Bits)v & ~nan) | (nan & 0x7fc00000));
}

#endif

}  // namespace sdx::SDX_ISA
