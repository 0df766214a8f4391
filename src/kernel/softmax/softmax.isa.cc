#include "kernel/softmax/softmax.h"

#include "kernel/math/math_isa.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

// How a result is kept: as it is, or rounded to float16 (a NaN stays some NaN).
struct Floats {
  using Element = float;
  SDX_INLINE static F32x16 round(F32x16 x) { return x; }
  SDX_INLINE static F32x16 get(const float* p) { return load(p); }
};
struct Halves {
  using Element = uint16_t;
  SDX_INLINE static F32x16 round(F32x16 x) {
    uint16_t h[16];
    store_f16_raw(h, x);
    return U16Lanes<F32x16>::halves(h);
  }
  SDX_INLINE static F32x16 get(const uint16_t* p) { return U16Lanes<F32x16>::halves(p); }
};

// Sixteen elements of a mask's row from `column` on; those behind the row's end are whatever.
template <class Kept>
SDX_INLINE F32x16 mask_at(const typename Kept::Element* row, size_t step, size_t column, size_t n) {
  using T = typename Kept::Element;
  if (step == 1 && n - column >= 16) return Kept::get(row + column);
  T some[16] = {};
  for (size_t i = 0; i < 16 && (step == 0 || column + i < n); ++i)
    some[i] = row[(column + i) * step];
  return Kept::get(some);
}

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

struct Range {
  float most, least;  // of the elements that are not NaN
};

// Several vectors at once, so that none waits for the one before.
struct Extremes {
  static constexpr size_t kVectors = 4;
  F32x16 most[kVectors], least[kVectors];
  Extremes() {
    for (F32x16& x : most) x = F32x16(kMinusInfinity);
    for (F32x16& x : least) x = F32x16(-kMinusInfinity);
  }
  SDX_INLINE void take(size_t i, F32x16 x) { take(i, x, x); }
  SDX_INLINE void take(size_t i, F32x16 high, F32x16 low) {
    most[i] = max_raw(high, most[i]);
    least[i] = min_raw(low, least[i]);
  }
  SDX_INLINE F32x16 high() const {
    return max_raw(max_raw(most[0], most[1]), max_raw(most[2], most[3]));
  }
  SDX_INLINE F32x16 low() const {
    return min_raw(min_raw(least[0], least[1]), min_raw(least[2], least[3]));
  }
  SDX_INLINE Range range() const { return {greatest(high()), smallest(low())}; }
};

// The range of a row after the mask. Behind its end a row becomes -infinity, up to a whole vector.
// A NaN needs no care: its power makes the sum NaN.
template <class Kept>
SDX_INLINE Range enter(const SoftmaxRows& s, size_t row) {
  float* x = s.x + row * s.ld;
  Extremes seen;
  const size_t whole = s.n / 16 * 16, rest = s.n - whole;
  const auto* mask = s.mask == nullptr
                         ? nullptr
                         : static_cast<const typename Kept::Element*>(s.mask) + row * s.mask_row;
  const auto entered = [&](F32x16 score, size_t i) __attribute__((always_inline)) {
    score = Kept::round(score);
    return mask == nullptr ? score : Kept::round(score + mask_at<Kept>(mask, s.mask_col, i, s.n));
  };
  size_t i = 0;
  if (mask == nullptr && !s.halves) {
    for (; i + 16 * Extremes::kVectors <= whole; i += 16 * Extremes::kVectors) {
      for (size_t v = 0; v < Extremes::kVectors; ++v) seen.take(v, load(x + i + 16 * v));
    }
    for (; i < whole; i += 16) seen.take(0, load(x + i));
  } else {
    for (; i < whole; i += 16) {
      const F32x16 score = entered(load(x + i), i);
      store(x + i, score);
      seen.take(i / 16 % Extremes::kVectors, score);
    }
  }
  if (rest != 0) {
    float ends[16];
    store(ends, entered(load_n(x + i, rest), i));
    store(x + i, load_n(ends, rest, kMinusInfinity));
    seen.take(0, load_n(ends, rest, kMinusInfinity), load_n(ends, rest, -kMinusInfinity));
  }
  return seen.range();
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
constexpr float kSmall = 0x1p-77f;

// The power of this is not below it.
constexpr float kNotSmall = -53.0f;

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

struct Sum {
  float total;
  bool small;  // a power lies between 0 and kSmall
};

template <class Kept, bool kCheck>
SDX_INLINE Sum powers(const SoftmaxRows& s, size_t row, float most) {
  float* x = s.x + row * s.ld;
  F32x16 total(0.0f);
  M16 small = F32x16(0.0f) != F32x16(0.0f);
  const auto add = [&](float* to, F32x16 e) __attribute__((always_inline)) {
    total = total + e;
    if constexpr (kCheck) small = small | ((e < F32x16(kSmall)) & (e > F32x16(0.0f)));
    store(to, e);
  };
  // Two vectors take turns in the long chain of a power.
  size_t i = 0;
  for (; i + 32 <= s.n; i += 32) {
    const Pair<F32x16> below(Kept::round(load(x + i) - F32x16(most)),
                             Kept::round(load(x + i + 16) - F32x16(most)));
    const Pair<F32x16> e = kCheck ? power(below) : near_power(below);
    add(x + i, Kept::round(e.lo));
    add(x + i + 16, Kept::round(e.hi));
  }
  for (; i < s.n; i += 16) {
    add(x + i, Kept::round(power(Kept::round(load(x + i) - F32x16(most)))));
  }
  return {sum(total), any(small)};
}

// e / sum. A quotient is rounded right without a division: with y the float nearest to 1 / sum and
// z what y lacks, q = e y + e z is the quotient but for one unit in its last place, e - q sum is
// exact, and q + (e - q sum) y rounds as the quotient does (Markstein, 1990). That holds where
// nothing underflows: sum is at least 1, so e down to kSmall is safe, and 0 gives 0.
template <class Kept>
SDX_INLINE void divide(const SoftmaxRows& s, size_t row, Sum sum) {
  float* x = s.x + row * s.ld;
  float total = sum.total;
  if (s.halves) {
    float lanes[16];
    store(lanes, Kept::round(F32x16(total)));
    total = lanes[0];
  }
  if (total != total) {
    for (size_t i = 0; i < s.n; i += 16) store(x + i, F32x16(s.nan));
    return;
  }
  const F32x16 divisor(total);
#if !defined(SDX_SOFT_FMA)
  if (!sum.small && total < 0x1p24f) {
    const float inverse = 1.0f / total;
    const F32x16 y(inverse), z(__builtin_fmaf(-inverse, total, 1.0f) * inverse);
    const F32x16 minus = lanes::negate(divisor);
    for (size_t i = 0; i < s.n; i += 16) {
      const F32x16 e = load(x + i);
      const F32x16 q = fma(e, y, e * z);
      store(x + i, Kept::round(fma(fma(q, minus, e), y, q)));
    }
    return;
  }
#endif
  for (size_t i = 0; i < s.n; i += 16) store(x + i, Kept::round(load(x + i) / divisor));
}

// The row is -infinity alone, if its greatest number is.
SDX_INLINE bool is_dark(const SoftmaxRows& s, size_t row, float most) {
  if (!s.dark_is_zero || most != kMinusInfinity) return false;
  for (size_t i = 0; i < s.n; ++i) {
    if (s.x[row * s.ld + i] != kMinusInfinity) return false;  // a NaN
  }
  return true;
}

// A few rows at a time, so that one row's sum is made while another's powers are.
template <class Kept>
void all_rows(const SoftmaxRows& s) {
  constexpr size_t kTogether = 4;
  for (size_t first = 0; first < s.rows; first += kTogether) {
    const size_t end = s.rows - first < kTogether ? s.rows : first + kTogether;
    Range range[kTogether];
    Sum sums[kTogether];
    for (size_t row = first; row < end; ++row) range[row - first] = enter<Kept>(s, row);
    for (size_t row = first; row < end; ++row) {
      const auto [most, least] = range[row - first];
      if (is_dark(s, row, most)) {
        for (size_t i = 0; i < s.n; i += 16) store(s.x + row * s.ld + i, F32x16(0.0f));
        sums[row - first] = {1.0f, false};
        continue;
      }
      sums[row - first] = least - most >= kNotSmall ? powers<Kept, false>(s, row, most)
                                                    : powers<Kept, true>(s, row, most);
    }
    for (size_t row = first; row < end; ++row) divide<Kept>(s, row, sums[row - first]);
  }
}

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

struct Seen {
  float most;
  bool near;  // are_near
};
SDX_INLINE Seen look_at(const float* x, const Length& row) {
  F32x16 high(kMinusInfinity), low(-kMinusInfinity);
  for (size_t i = 0; i < row.whole; i += 16) {
    const F32x16 v = load(x + i);
    high = max_raw(v, high);
    low = min_raw(v, low);
  }
  if (row.rest != 0) {
    high = max_raw(row.load_last(x, kMinusInfinity), high);
    low = min_raw(row.load_last(x, -kMinusInfinity), low);
  }
  const float most = greatest(high);
  return {most, are_near(low, F32x16(most))};
}

// The powers of a row, written to y.
struct Powers {
  float total;
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
  return {sum(total), any(small)};
}

SDX_INLINE void divide_row(float* y, const Length& row, const Powers& powers) {
  const Divisor divisor(powers.total, powers.small);
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

}  // namespace

// Each of the three looks at a row ends with a long chain (the greatest, the sum, the inverse): a
// few rows take each look together, so that one's chain is made while the next one's vectors are.
void softmax_apart(const float* x, float* y, size_t rows, size_t n) {
  if (n == 0) return;
  constexpr size_t kMost = 16, kElements = 2048;  // which stay in the first cache
  const Length row(n);
  const size_t some = n * kMost <= kElements ? kMost : n >= kElements ? 1 : kElements / n;
  for (; rows != 0;) {
    const size_t now = rows < some ? rows : some;
    Seen seen[kMost];
    Powers powers[kMost];
    for (size_t r = 0; r < now; ++r) seen[r] = look_at(x + r * n, row);
    for (size_t r = 0; r < now; ++r) {
      const F32x16 most(seen[r].most);
      powers[r] = seen[r].near ? powers_of<true>(x + r * n, y + r * n, row, most)
                               : powers_of<false>(x + r * n, y + r * n, row, most);
    }
    for (size_t r = 0; r < now; ++r) divide_row(y + r * n, row, powers[r]);
    x += now * n;
    y += now * n;
    rows -= now;
  }
}

void softmax_rows(const SoftmaxRows& s) { s.halves ? all_rows<Halves>(s) : all_rows<Floats>(s); }

}  // namespace sdx::SDX_ISA
