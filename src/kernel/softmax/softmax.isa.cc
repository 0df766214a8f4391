#include "kernel/softmax/softmax.h"

#include "kernel/softmax/powers.h"

namespace sdx::SDX_ISA {
namespace {

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

}  // namespace

void softmax_rows(const SoftmaxRows& s) { s.halves ? all_rows<Halves>(s) : all_rows<Floats>(s); }

}  // namespace sdx::SDX_ISA
