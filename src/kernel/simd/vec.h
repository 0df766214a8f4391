// Vec: one SIMD register of floats of the level being compiled, with an exact fused multiply-add at
// every level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
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
  // A table of what to do with each kind of float: the constant for both NaNs, itself for others.
  return _mm512_fixupimm_ps(_mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)), v,
                            _mm512_set1_epi32(0x11111100), 0);
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

#if defined(__SSE2__) && !defined(__FMA__)
// a * b is exact in double. Its sum with c is rounded to odd (if inexact, to the neighbour whose
// last bit is 1), after which the rounding to float is the only one that counts: 53 >= 2 * 24 + 2
// bits. In intrinsics, for g++ 12 miscompiles the same steps on generic vectors built lane by lane
// (-ftree-slp-vectorize).
inline __m128d fma_to_odd(__m128d a, __m128d b, __m128d c) {
  const __m128d product = _mm_mul_pd(a, b);
  const __m128d sum = _mm_add_pd(product, c);
  const __m128d back = _mm_sub_pd(sum, product);
  // What the sum lost: exact; NaN if the sum is infinite or NaN.
  const __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, back)), _mm_sub_pd(c, back));
  const __m128d zero = _mm_setzero_pd();
  const __m128i inexact =
      _mm_castpd_si128(_mm_or_pd(_mm_cmplt_pd(error, zero), _mm_cmpgt_pd(error, zero)));
  const __m128i bits = _mm_castpd_si128(sum), one = _mm_set1_epi64x(1);
  const __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
  // -1 if the error points to zero, +1 if away from it: the way to the neighbour, in bits.
  const __m128i opposite = _mm_srli_epi64(_mm_xor_si128(_mm_castpd_si128(error), bits), 63);
  const __m128i step = _mm_sub_epi64(one, _mm_add_epi64(opposite, opposite));
  return _mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(step, _mm_and_si128(even, inexact))));
}

inline Vec vec_fma(Vec a, Vec b, Vec c) {
  const __m128d low = fma_to_odd(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
  const __m128d high =
      fma_to_odd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)),
                 _mm_cvtps_pd(_mm_movehl_ps(c, c)));
  return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
#else
inline Vec vec_fma(Vec a, Vec b, Vec c) {
  for (int i = 0; i < kLanes; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
#endif

inline Vec vec_canonical(Vec v) {
  typedef int32_t Bits __attribute__((vector_size(16)));
  const Bits nan = v != v;
  return (Vec)(((Bits)v & ~nan) | (nan & 0x7fc00000));
}

#endif

}  // namespace sdx::SDX_ISA
