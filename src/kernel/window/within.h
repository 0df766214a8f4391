// Vectors at the ends of a row, for *.isa.cc files.
#pragma once

#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {

// Which of sixteen floats from row[at] on lie in row[0, size); the others are read as `fill`.
struct Within {
#if defined(SDX_ISA_avx512)
  __mmask16 in;
#elif defined(SDX_ISA_avx2)
  __m256i low, high;
  bool all;
#else
  int first, end;
#endif
  SDX_INLINE Within(ptrdiff_t at, ptrdiff_t size) {
    const int begin = at >= 0 ? 0 : at < -16 ? 16 : int(-at);
    const int stop = size <= at ? 0 : size - at > 16 ? 16 : int(size - at);
#if defined(SDX_ISA_avx512)
    in = __mmask16(((1u << stop) - 1) & ~((1u << begin) - 1));
#elif defined(SDX_ISA_avx2)
    low = _mm256_andnot_si256(first_of_eight(begin), first_of_eight(stop));
    high = _mm256_andnot_si256(first_of_eight(begin - 8), first_of_eight(stop - 8));
    all = begin == 0 && stop == 16;
#else
    first = begin;
    end = stop;
#endif
  }
  SDX_INLINE F32x16 load_from(const float* p, F32x16 fill) const {
#if defined(SDX_ISA_avx512)
    return _mm512_mask_loadu_ps(fill.v, in, p);
#elif defined(SDX_ISA_avx2)
    if (all) return load(p);
    const auto eight = [](const float* from, __m256i mask, F32 other) {
      return F32(
          _mm256_blendv_ps(other.v, _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask)));
    };
    return {eight(p, low, fill.lo), eight(p + 8, high, fill.hi)};
#else
    float lanes[16];
    store(lanes, fill);
    for (int i = first; i < end; ++i) lanes[i] = p[i];
    return load(lanes);
#endif
  }
};

// Lanes from kBy on, and behind them the first ones of the next vector.
template <int kBy>
SDX_INLINE F32x16 moved_up(F32x16 a, F32x16 next) {
#if defined(SDX_ISA_avx512)
  return _mm512_castsi512_ps(
      _mm512_alignr_epi32(_mm512_castps_si512(next.v), _mm512_castps_si512(a.v), kBy));
#elif defined(SDX_ISA_avx2)
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i turned = _mm256_add_epi32(lanes, _mm256_set1_epi32(kBy));  // modulo 8
  const auto eight = [=](F32 from, F32 behind) {
    const __m256 taken = _mm256_blend_ps(from.v, behind.v, (1 << kBy) - 1);
    return F32(_mm256_permutevar8x32_ps(taken, turned));
  };
  return {eight(a.lo, a.hi), eight(a.hi, next.lo)};
#else
  const auto four = [](F32 from, F32 behind) {
    return F32(__builtin_shufflevector(from.v, behind.v, kBy, kBy + 1, kBy + 2, kBy + 3));
  };
  return {{four(a.lo.lo, a.lo.hi), four(a.lo.hi, a.hi.lo)},
          {four(a.hi.lo, a.hi.hi), four(a.hi.hi, next.lo.lo)}};
#endif
}

}  // namespace sdx::SDX_ISA
