// The softmax of sixteen short rows at once.
#pragma once

#include "kernel/gemm/pack.h"
#include "kernel/softmax/row.h"

namespace sdx::SDX_ISA {

#if !defined(SDX_SOFT_FMA)

// Rows that are taken sixteen at a time: short ones with few elements behind the last whole vector,
// and those that do not fill a vector.
#if defined(SDX_ISA_avx512)
inline constexpr size_t kMostInSixteen = 256, kMostTails = 8;
#else
inline constexpr size_t kMostInSixteen = 128, kMostTails = 4;
#endif
inline bool go_by_sixteen(size_t n) {
  if (n < 16) return true;
  return n <= kMostInSixteen && n % 16 != 0 && n % 16 <= kMostTails;
}

// Sixteen rows together. What a row's lanes come to in the end, its greatest element and its sum,
// is found for all of them at once, a row to each lane; and so are the powers of a few elements
// behind the last whole vector, which would leave most lanes of a vector of their own empty.
class SixteenRows {
 public:
  explicit SixteenRows(size_t n) : n_(n), tails_(go_by_sixteen(n) ? n % 16 : 0), row_(n - tails_) {}

  // False, with nothing done, where not all powers are near (are_near).
  bool run(const float* x, float* y) {
    for (size_t k = 0; k < tails_; ++k) {
      for (size_t r = 0; r < 16; ++r) tail_[k][r] = x[r * n_ + row_.n + k];
    }
    const F32x16 most = find_greatest(x);
    if (!near_) return false;
    const F32x16 sums = take_powers(x, y, most);
    if (any(lanes::is_nan(sums))) {
      for (size_t r = 0; r < 16; ++r) divide_row(y + r * n_, row_, Divisor(at(sums, r), false));
      const Divisor divisor(sums);
      each_tail([&](F32x16 e) __attribute__((always_inline)) { return divisor.slow(e); });
    } else {
      divide(y, Divisor(sums));
    }
    for (size_t k = 0; k < tails_; ++k) {
      for (size_t r = 0; r < 16; ++r) y[r * n_ + row_.n + k] = tail_[k][r];
    }
    return true;
  }

 private:
  static float at(F32x16 a, size_t lane) {
    float all[16];
    a.store(all);
    return all[lane];
  }
  template <class F>
  SDX_INLINE void each_tail(F f) {
    for (size_t k = 0; k < tails_; ++k) store(tail_[k], f(load(tail_[k])));
  }
  SDX_INLINE void turn() {
    // g++ 12, did it know the number, would warn of a loop that has no rows left.
    size_t sixteen = 16;
    asm("" : "+r"(sixteen));
    pack_transposed(lane_[0], 16, sixteen, 16, turned_[0], 16);
  }

  F32x16 find_greatest(const float* x) {
    F32x16 low(-kMinusInfinity), most[2] = {F32x16(kMinusInfinity), F32x16(kMinusInfinity)};
    if (row_.n != 0) {
      for (size_t r = 0; r < 16; ++r) {
        F32x16 high(kMinusInfinity);
        look_at(x + r * n_, row_, high, low);
        store(lane_[r], high);
      }
      turn();
      for (size_t j = 0; j < 16; ++j) most[j % 2] = max_raw(load(turned_[j]), most[j % 2]);
    }
    for (size_t k = 0; k < tails_; ++k) {
      low = min_raw(load(tail_[k]), low);
      most[k % 2] = max_raw(load(tail_[k]), most[k % 2]);
    }
    most[0] = max_raw(most[0], most[1]);
    near_ = are_near(low, F32x16(greatest(most[0])));
    return most[0];
  }

  // A row that is taken next. Rows begin anywhere in a line, so each of its vectors waits for two.
  SDX_INLINE void fetch_row(const float* x, const float* y) const {
    for (size_t i = 0; i < n_; i += 16) {
      __builtin_prefetch(x + i, 0, 3);
      __builtin_prefetch(y + i, 1, 3);
    }
  }

  // The sums of all rows; each lane of a row ends with its tail.
  F32x16 take_powers(const float* x, float* y, F32x16 most) {
    float each[16];
    most.store(each);
    if (row_.n != 0) {
      for (size_t r = 0; r < 16; ++r) {
        fetch_row(x + (16 + r) * n_, y + (16 + r) * n_);
        const Powers powers = powers_of<true>(x + r * n_, y + r * n_, row_, F32x16(each[r]));
        store(lane_[r], powers.total);
      }
      turn();
    } else {
      memset(turned_, 0, sizeof turned_);
    }
    each_tail([&](F32x16 v) __attribute__((always_inline)) { return near_power(v - most); });
    for (size_t k = 0; k < tails_; ++k) store(turned_[k], load(turned_[k]) + load(tail_[k]));
    for (size_t step = 8; step > 1; step /= 2) {
      for (size_t j = 0; j < step; ++j)
        store(turned_[j], load(turned_[j]) + load(turned_[j + step]));
    }
    return load(turned_[0]) + load(turned_[1]);
  }

  void divide(float* y, const Divisor& all) {
    float inverse[16], rest[16], minus[16];
    all.y.store(inverse);
    all.z.store(rest);
    all.minus.store(minus);
    Divisor one = all;
    for (size_t r = 0; r < 16; ++r) {
      one.y = F32x16(inverse[r]);
      one.z = F32x16(rest[r]);
      one.minus = F32x16(minus[r]);
      divide_row(y + r * n_, row_, one);
    }
    each_tail([&](F32x16 e) __attribute__((always_inline)) { return all.quick(e); });
  }

  const size_t n_, tails_;
  const Length row_;  // without its tail
  bool near_ = false;
  alignas(64) float lane_[16][16], turned_[16][16];  // [row][lane], [lane][row]
  alignas(64) float tail_[15][16];                   // [element][row]
};

#endif

}  // namespace sdx::SDX_ISA
