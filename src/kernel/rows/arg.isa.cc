#include "kernel/rows/arg.h"

#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {
namespace {

// Whether x, which comes later, takes the place of the best so far.
template <bool kLeast, bool kLast, class F>
SDX_INLINE auto beats(F x, F best) {
  const auto number = kLast ? (kLeast ? x <= best : x >= best) : (kLeast ? x < best : x > best);
  return kLast ? number | (x != x) : number | ((x != x) & (best == best));
}

struct Best {
  float value;
  int64_t at;
};

// Of two in any order: where neither is better, the place decides.
template <bool kLeast, bool kLast>
Best better(Best a, Best b) {
  const bool equal = a.value == b.value || (a.value != a.value && b.value != b.value);
  if (equal) return (a.at > b.at) == kLast ? a : b;
  return beats<kLeast, kLast>(one::F32(a.value), one::F32(b.value)).m ? a : b;
}

template <bool kLeast, bool kLast>
int64_t of_row(const float* x, size_t n) {
  Best best{x[0], 0};
  size_t i = 1;
  if (n >= 16) {
    F32x16 lanes = load(x);
    I32x16 at(0);  // the vector's number
    for (i = 16; i + 16 <= n; i += 16) {
      const F32x16 v = load(x + i);
      const M16 new_best = beats<kLeast, kLast>(v, lanes);
      lanes = select(new_best, v, lanes);
      at = select(new_best, I32x16(int32_t(i / 16)), at);
    }
    float value[16];
    int32_t number[16];
    lanes.store(value);
    at.store(number);
    best = {value[0], int64_t(number[0]) * 16};
    for (int j = 1; j < 16; ++j)
      best = better<kLeast, kLast>({value[j], int64_t(number[j]) * 16 + j}, best);
  }
  for (; i < n; ++i) best = better<kLeast, kLast>({x[i], int64_t(i)}, best);
  return best.at;
}

template <bool kLeast, bool kLast>
void of_columns(const float* x, size_t rows, size_t step, size_t columns, int64_t* y) {
  for (size_t j = 0; j < columns; j += 16) {
    const size_t some = columns - j < 16 ? columns - j : 16;
    const auto row = [&](size_t i) __attribute__((always_inline)) {
      const float* p = x + i * step + j;
      return some == 16 ? load(p) : load_n(p, some);
    };
    F32x16 best = row(0);
    I32x16 at(0);
    for (size_t i = 1; i < rows; ++i) {
      const F32x16 v = row(i);
      const M16 new_best = beats<kLeast, kLast>(v, best);
      best = select(new_best, v, best);
      at = select(new_best, I32x16(int32_t(i)), at);
    }
    int32_t number[16];
    at.store(number);
    for (size_t k = 0; k < some; ++k) y[j + k] = number[k];
  }
}

}  // namespace

int64_t arg_of_row(const ArgKind& kind, const float* x, size_t n) {
  if (kind.least) return kind.last ? of_row<true, true>(x, n) : of_row<true, false>(x, n);
  return kind.last ? of_row<false, true>(x, n) : of_row<false, false>(x, n);
}

void arg_of_columns(const ArgKind& kind, const float* x, size_t rows, size_t step, size_t columns,
                    int64_t* y) {
  const auto run = kind.least ? (kind.last ? of_columns<true, true> : of_columns<true, false>)
                              : (kind.last ? of_columns<false, true> : of_columns<false, false>);
  run(x, rows, step, columns, y);
}

}  // namespace sdx::SDX_ISA
