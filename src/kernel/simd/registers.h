// One register of floats, F32 of native.h, for kernels that count registers: how many lanes it has,
// and loads and stores of only the first ones.
#pragma once

#include "kernel/simd/generic.h"
#include "kernel/simd/native.h"

namespace sdx::SDX_ISA {

inline constexpr int kLanes = F32::kLanes;

// The first n < kLanes lanes; the others read as +0 and are not written.
#if defined(SDX_ISA_avx512)
SDX_INLINE __mmask16 first_lanes(size_t n) { return __mmask16((1u << n) - 1); }
SDX_INLINE F32 load_first(const float* p, size_t n) {
  return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
SDX_INLINE void store_first(float* p, F32 a, size_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), a.v);
}
#elif defined(SDX_ISA_avx2)
SDX_INLINE __m256i first_lanes(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
SDX_INLINE F32 load_first(const float* p, size_t n) {
  return _mm256_maskload_ps(p, first_lanes(n));
}
SDX_INLINE void store_first(float* p, F32 a, size_t n) {
  // In powers of two: a masked store takes a dozen cycles and more on AMD's.
  __m128 four = _mm256_castps256_ps128(a.v);
  if ((n & 4) != 0) {
    _mm_storeu_ps(p, four);
    p += 4;
    four = _mm256_extractf128_ps(a.v, 1);
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), four);
    p += 2;
    four = _mm_movehl_ps(four, four);
  }
  if ((n & 1) != 0) _mm_store_ss(p, four);
}
#else
SDX_INLINE F32 load_first(const float* p, size_t n) {
  RawF32 raw{};
  memcpy(&raw, p, n * sizeof(float));
  return raw;
}
SDX_INLINE void store_first(float* p, F32 a, size_t n) { memcpy(p, &a.v, n * sizeof(float)); }
#endif

// A float that multiplies whole registers. On x86 it is a register of equal lanes, which a load
// makes; on arm64 copying it to the lanes would take a turn of the pipes that multiply, and the
// instruction takes it from one lane.
#if defined(SDX_ISA_neon)
struct Each {
  float x;
  SDX_INLINE explicit Each(float value) : x(value) {}
};
SDX_INLINE F32 fma(Each a, F32 b, F32 c) {
#if defined(__clang__)
  return (RawF32)vfmaq_n_f32(c.v, b.v, a.x);
#else
  asm("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(c.v) : "w"(b.v), "w"(a.x));
  return c;
#endif
}
#else
using Each = F32;
#endif

}  // namespace sdx::SDX_ISA
