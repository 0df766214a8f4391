// The three looks at one row of a softmax: its extremes, its powers and their sum, the quotients.
#pragma once

#include "kernel/softmax/powers.h"

namespace sdx::SDX_ISA {

// What divides a row's powers: by the quotient's own rounding where that is safe.
struct Divisor {
  F32x16 total, y, z, minus;
  bool safe;
  SDX_INLINE Divisor(float sum, bool small) : total(sum), safe(false) {
#if !defined(SDX_SOFT_FMA)
    safe = sum < 0x1p24f && !small;  // a NaN is not safe
    const float inverse = 1.0f / sum;
    y = F32x16(inverse);
    z = F32x16(__builtin_fmaf(-inverse, sum, 1.0f) * inverse);
    minus = F32x16(-sum);
#else
    (void)small;
#endif
  }
#if !defined(SDX_SOFT_FMA)
  // Of a row to each lane, all of them safe.
  SDX_INLINE explicit Divisor(F32x16 sums) : total(sums), safe(true) {
    y = F32x16(1.0f) / sums;
    minus = lanes::negate(sums);
    z = fma(lanes::negate(y), sums, F32x16(1.0f)) * y;
  }
#endif
  SDX_INLINE F32x16 quick(F32x16 e) const {
    const F32x16 q = fma(e, y, e * z);
    return fma(fma(q, minus, e), y, q);
  }
  SDX_INLINE F32x16 slow(F32x16 e) const { return lanes::canonical(e / total); }
};

SDX_INLINE M16 is_small(F32x16 e) { return (e < F32x16(kSmall)) & (e > F32x16(0.0f)); }

// Whether every power is near: `low` are elements among which each lane's least is. (No comparison
// holds for a NaN, whose power is NaN either way.)
SDX_INLINE bool are_near(F32x16 low, F32x16 most) { return !any(low - most < F32x16(kNotSmall)); }

// A row of n elements: `whole` of them in whole vectors, and a last vector that has `rest`. Where
// masks take instructions they are made once.
struct Length {
  size_t n, whole, rest;
#if defined(SDX_ISA_avx2)
  __m256 low, high;
#endif
  SDX_INLINE explicit Length(size_t elements)
      : n(elements), whole(elements / 16 * 16), rest(elements % 16) {
#if defined(SDX_ISA_avx2)
    low = _mm256_castsi256_ps(first_of_eight(int(rest)));
    high = _mm256_castsi256_ps(first_of_eight(int(rest) - 8));
#endif
  }
  // The last vector; `fill` behind the end.
  SDX_INLINE F32x16 load_last(const float* row, float fill) const {
#if defined(SDX_ISA_avx2)
    const auto part = [fill](const float* p, __m256 in) __attribute__((always_inline)) {
      return F32(_mm256_blendv_ps(_mm256_set1_ps(fill),
                                  _mm256_maskload_ps(p, _mm256_castps_si256(in)), in));
    };
    return {part(row + whole, low), part(row + whole + 8, high)};
#else
    return load_n(row + whole, rest, fill);
#endif
  }
  // Its elements, and +0 behind the end.
  SDX_INLINE F32x16 of_last(F32x16 a) const {
#if defined(SDX_ISA_avx512)
    return _mm512_maskz_mov_ps(__mmask16((1u << rest) - 1), a.v);
#elif defined(SDX_ISA_avx2)
    return {F32(_mm256_and_ps(a.lo.v, low)), F32(_mm256_and_ps(a.hi.v, high))};
#else
    float lanes[16];
    a.store(lanes);
    return load_n(lanes, rest);
#endif
  }
};

// The greatest and least elements of a row, lane by lane.
SDX_INLINE void look_at(const float* x, const Length& row, F32x16& high, F32x16& low) {
  for (size_t i = 0; i < row.whole; i += 16) {
    const F32x16 v = load(x + i);
    high = max_raw(v, high);
    low = min_raw(v, low);
  }
  if (row.rest != 0) {
    high = max_raw(row.load_last(x, kMinusInfinity), high);
    low = min_raw(row.load_last(x, -kMinusInfinity), low);
  }
}

// The powers of a row, written to y.
struct Powers {
  F32x16 total;  // by lanes
  bool small;
};
template <bool kNear>
SDX_INLINE Powers powers_of(const float* x, float* y, const Length& row, F32x16 most) {
  F32x16 total(0.0f);
  M16 small = total != total;
  const auto raised = [](auto below) __attribute__((always_inline)) {
    if constexpr (kNear)
      return near_power(below);
    else
      return power(below);
  };
  const auto put = [&](float* to, F32x16 e) __attribute__((always_inline)) {
    total = total + e;
    if constexpr (!kNear) small = small | is_small(e);
    store(to, e);
  };
  // Two vectors take turns in the long chain of a power.
  size_t i = 0;
  for (; i + 32 <= row.whole; i += 32) {
    const auto e = raised(Pair<F32x16>(load(x + i) - most, load(x + i + 16) - most));
    put(y + i, e.lo);
    put(y + i + 16, e.hi);
  }
  if (i < row.whole) put(y + i, raised(load(x + i) - most));
  if (row.rest != 0) {
    const F32x16 below = row.of_last(row.load_last(x, 0.0f) - most);
    F32x16 e(0.0f);
#if defined(SDX_ISA_avx2)
    if (row.rest <= 8) {
      e.lo = raised(below.lo);
    } else {
      e = raised(below);
    }
#else
    e = raised(below);
#endif
    e = row.of_last(e);
    total = total + e;
    if constexpr (!kNear) small = small | is_small(e);
    store_n(y + row.whole, e, row.rest);
  }
  return {total, any(small)};
}

SDX_INLINE void divide_row(float* y, const Length& row, const Divisor& divisor) {
  const auto all = [&](auto divide) __attribute__((always_inline)) {
    for (size_t i = 0; i < row.whole; i += 16) store(y + i, divide(load(y + i)));
    if (row.rest == 0) return;
    store_n(y + row.whole, divide(row.load_last(y, 0.0f)), row.rest);
  };
  if (divisor.safe) {
    all([&](F32x16 e) __attribute__((always_inline)) { return divisor.quick(e); });
  } else {
    all([&](F32x16 e) __attribute__((always_inline)) { return divisor.slow(e); });
  }
}

}  // namespace sdx::SDX_ISA
