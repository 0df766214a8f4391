#include "kernel/rows/rows.h"

#include "kernel/gemm/pack.h"
#include "kernel/math/math_isa.h"
#include "kernel/simd/numbers.h"
#include "kernel/softmax/powers.h"

namespace sdx::SDX_ISA {
namespace {

SDX_INLINE F32x16 load_block(const float* p, size_t count, float fill = 0.0f) {
  return count == 16 ? load(p) : load_n(p, count, fill);
}
SDX_INLINE void store_block(float* p, F32x16 a, size_t count) {
  if (count == 16) {
    store(p, a);
  } else {
    store_n(p, a, count);
  }
}
// One loop with one copy of the body: the last block differs in how it is loaded and stored.
template <class Body>
SDX_INLINE void blocks(size_t n, Body body) {
  for (size_t i = 0; i < n; i += 16) body(i, n - i < 16 ? n - i : 16);
}

// How one element enters a lane, how two lanes join, and what changes nothing.
template <Fold kFold>
struct Folding {
  static constexpr float kNone = kFold == Fold::prod  ? 1.0f
                                 : kFold == Fold::max ? -__builtin_inff()
                                 : kFold == Fold::min ? __builtin_inff()
                                                      : 0.0f;
  template <class F>
  SDX_INLINE static F join(F a, F b) {
    if constexpr (kFold == Fold::prod) return a * b;
    if constexpr (kFold == Fold::max) return lanes::max(a, b);
    if constexpr (kFold == Fold::min) return lanes::min(a, b);
    if constexpr (kFold == Fold::sum || kFold == Fold::sum_abs || kFold == Fold::sum_square)
      return a + b;
  }
  template <class F>
  SDX_INLINE static F enter(F lane, F x) {
    if constexpr (kFold == Fold::sum_abs) return lane + lanes::abs(x);
    if constexpr (kFold == Fold::sum_square) return lane + x * x;
    return join(lane, x);
  }
};

template <Fold kFold>
void take(float* lane, size_t taken, const float* x, size_t n) {
  using F = Folding<kFold>;
  // Up to the next multiple of 16 one by one, then whole vectors.
  size_t i = 0;
  for (size_t j = taken % 16; j != 0 && j < 16 && i < n; ++j, ++i) {
    lane[j] = F::enter(one::F32(lane[j]), one::F32(x[i])).v;
  }
  F32x16 all = load(lane);
  blocks(n - i, [&](size_t at, size_t count) {
    all = F::enter(all, load_block(x + i + at, count, F::kNone));
  });
  store(lane, all);
}

template <Fold kFold>
float end(const float* lane) {
  return canonical(tree(load(lane), [](float a, float b) {
    return Folding<kFold>::join(one::F32(a), one::F32(b)).v;
  }));
}

template <Fold kFold>
SDX_INLINE float joined(F32x16 all) {
  if constexpr (kFold == Fold::sum || kFold == Fold::sum_abs || kFold == Fold::sum_square) {
    return sum(all);
  } else {
    return tree(all,
                [](float a, float b) { return Folding<kFold>::join(one::F32(a), one::F32(b)).v; });
  }
}

// What the lanes of some rows come to, so that one's chain is not waited for.
template <Fold kFold, size_t kRows>
SDX_INLINE void fold_lanes(const float* x, size_t n, float (*lane)[16]) {
  using F = Folding<kFold>;
  const size_t whole = n / 16 * 16, rest = n - whole;
  F32x16 all[kRows];
  for (F32x16& a : all) a = F32x16(F::kNone);
  for (size_t i = 0; i < whole; i += 16) {
    for (size_t r = 0; r < kRows; ++r) all[r] = F::enter(all[r], load(x + r * n + i));
  }
  for (size_t r = 0; r < kRows; ++r) {
    if (rest != 0) all[r] = F::enter(all[r], load_n(x + r * n + whole, rest, F::kNone));
    store(lane[r], all[r]);
  }
}

// Sixteen rows at a time, whose lanes are joined for all of them at once, a row to each lane.
template <Fold kFold>
void whole_rows(const float* x, size_t rows, size_t n, float* y) {
  using F = Folding<kFold>;
  alignas(64) float lane[16][16] = {}, turned[16][16];  // [row][lane], [lane][row]
  constexpr size_t kFew = 4, kTogether = 4;
  while (rows >= kFew) {
    const size_t now = rows < 16 ? rows : 16;
    size_t r = 0;
    for (; r + kTogether <= now; r += kTogether)
      fold_lanes<kFold, kTogether>(x + r * n, n, lane + r);
    for (; r < now; ++r) fold_lanes<kFold, 1>(x + r * n, n, lane + r);
    pack_transposed(lane[0], 16, 16, 16, turned[0], 16);
    for (size_t step = 8; step > 0; step /= 2) {
      for (size_t j = 0; j < step; ++j)
        store(turned[j], F::join(load(turned[j]), load(turned[j + step])));
    }
    store_block(y, lanes::canonical(load(turned[0])), now);
    rows -= now, x += now * n, y += now;
  }
  for (; rows != 0; --rows, x += n, ++y) {
    // Extremes have no order: four parts of a row take turns.
    constexpr bool kAnyOrder = kFold == Fold::max || kFold == Fold::min;
    const size_t quarter = kAnyOrder ? n / 64 * 16 : 0;
    fold_lanes<kFold, 1>(x + 4 * quarter, n - 4 * quarter, lane);
    F32x16 all = load(lane[0]);
    if (quarter != 0) {
      fold_lanes<kFold, 4>(x, quarter, lane);
      for (size_t part = 0; part < 4; ++part) all = F::join(all, load(lane[part]));
    }
    *y = canonical(joined<kFold>(all));
  }
}

constexpr size_t kColumns = 64;  // whose sixteen lanes stay in the first cache

template <Fold kFold>
void columns(const float* x, size_t n, size_t step, size_t cols, float* y) {
  using F = Folding<kFold>;
  // Lanes that take no element change nothing, so short sums need fewer.
  size_t lanes_used = 1;
  while (lanes_used < 16 && lanes_used < n) lanes_used *= 2;
  alignas(64) float lane[16][kColumns];
  for (size_t first = 0; first < cols; first += kColumns) {
    const size_t width = cols - first < kColumns ? cols - first : kColumns;
    for (size_t j = 0; j < lanes_used; ++j)
      blocks(width, [&](size_t c, size_t) { store(lane[j] + c, F32x16(F::kNone)); });
    for (size_t i = 0; i < n; ++i) {
      const float* row = x + i * step + first;
      float* to = lane[i % 16];
      blocks(width, [&](size_t c, size_t count) {
        store(to + c, F::enter(load(to + c), load_block(row + c, count, F::kNone)));
      });
    }
    for (size_t half = lanes_used / 2; half > 0; half /= 2) {
      for (size_t j = 0; j < half; ++j) {
        blocks(width, [&](size_t c, size_t) {
          store(lane[j] + c, F::join(load(lane[j] + c), load(lane[j + half] + c)));
        });
      }
    }
    blocks(width, [&](size_t c, size_t count) {
      store_block(y + first + c, lanes::canonical(load(lane[0] + c)), count);
    });
  }
}

}  // namespace

#define SDX_FOLDS(call)                            \
  switch (fold) {                                  \
    case Fold::sum:                                \
      return call<Fold::sum> SDX_FOLD_ARGS;        \
    case Fold::sum_abs:                            \
      return call<Fold::sum_abs> SDX_FOLD_ARGS;    \
    case Fold::sum_square:                         \
      return call<Fold::sum_square> SDX_FOLD_ARGS; \
    case Fold::prod:                               \
      return call<Fold::prod> SDX_FOLD_ARGS;       \
    case Fold::max:                                \
      return call<Fold::max> SDX_FOLD_ARGS;        \
    case Fold::min:                                \
      return call<Fold::min> SDX_FOLD_ARGS;        \
  }

void fold_begin(Fold fold, float* lane) {
  const float none = fold == Fold::prod  ? 1.0f
                     : fold == Fold::max ? -__builtin_inff()
                     : fold == Fold::min ? __builtin_inff()
                                         : 0.0f;
  store(lane, F32x16(none));
}
#define SDX_FOLD_ARGS (lane, taken, x, n)
void fold_take(Fold fold, float* lane, size_t taken, const float* x, size_t n) { SDX_FOLDS(take) }
#undef SDX_FOLD_ARGS
#define SDX_FOLD_ARGS (lane)
float fold_end(Fold fold, const float* lane) {
  SDX_FOLDS(end)
  return 0;
}
#undef SDX_FOLD_ARGS
#define SDX_FOLD_ARGS (x, rows, n, y)
void fold_rows(Fold fold, const float* x, size_t rows, size_t n, float* y) { SDX_FOLDS(whole_rows) }
#undef SDX_FOLD_ARGS
#define SDX_FOLD_ARGS (x, n, step, cols, y)
void fold_columns(Fold fold, const float* x, size_t n, size_t step, size_t cols, float* y) {
  SDX_FOLDS(columns)
}
#undef SDX_FOLD_ARGS
#undef SDX_FOLDS

namespace {

// The greatest element; NaN if one is NaN. Several vectors at once, so that none waits for the one
// before.
SDX_INLINE float max_of(const float* x, size_t n) {
  constexpr size_t kVectors = 4;
  F32x16 most[kVectors];
  for (F32x16& m : most) m = F32x16(-__builtin_inff());
  M16 none = most[0] != most[0];
  size_t i = 0;
  for (; i + 16 * kVectors <= n; i += 16 * kVectors) {
    for (size_t v = 0; v < kVectors; ++v) {
      const F32x16 some = load(x + i + 16 * v);
      none = none | lanes::is_nan(some);
      most[v] = max_raw(some, most[v]);
    }
  }
  F32x16 all = lanes::max(lanes::max(most[0], most[1]), lanes::max(most[2], most[3]));
  if (any(none)) return __builtin_nanf("");
  blocks(n - i, [&](size_t at, size_t count) {
    all = lanes::max(all, load_block(x + i + at, count, -__builtin_inff()));
  });
  return max(all);
}

}  // namespace

// Elements behind the end are -inf: exp gives +0, which changes no sum, unless m is infinite or
// NaN, and then the sum is NaN or m is +inf anyway.
float exp_sum(const float* x, size_t n, float m) {
  F32x16 total(0.0f), low(__builtin_inff()), high(-__builtin_inff());
  const size_t pairs = n / 32 * 32;
  for (size_t i = 0; i < pairs; i += 16) {
    low = min_raw(load(x + i), low);
    high = max_raw(load(x + i), high);
  }
  size_t i = 0;
  if (!any((low - F32x16(m) < F32x16(kNotSmall)) | (high > F32x16(m)))) {
    // Two vectors take turns in the long chain of a power.
    for (; i < pairs; i += 32) {
      const auto e =
          near_power(Pair<F32x16>(load(x + i) - F32x16(m), load(x + i + 16) - F32x16(m)));
      total = total + e.lo;
      total = total + e.hi;
    }
  }
  blocks(n - i, [&](size_t at, size_t count) {
    total = total + lanes::exp(load_block(x + i + at, count, -__builtin_inff()) - F32x16(m));
  });
  return canonical(sum(total));
}

void log_softmax_row(const float* x, float* y, size_t n) {
  const float m = max_of(x, n);
  const F32x16 shift = lanes::log(F32x16(exp_sum(x, n, m)));
  blocks(n, [&](size_t i, size_t count) {
    store_block(y + i, lanes::canonical((load_block(x + i, count) - F32x16(m)) - shift), count);
  });
}

void softmax_columns(bool log, const float* x, float* y, size_t n, size_t step, size_t cols) {
  blocks(cols, [&](size_t c, size_t count) {
    F32x16 m(-__builtin_inff());
    for (size_t i = 0; i < n; ++i) m = lanes::max(m, load_block(x + i * step + c, count));
    alignas(64) float lane[16][16];
    for (size_t j = 0; j < 16; ++j) store(lane[j], F32x16(0.0f));
    for (size_t i = 0; i < n; ++i) {
      const F32x16 e = lanes::exp(load_block(x + i * step + c, count) - m);
      store(lane[i % 16], load(lane[i % 16]) + e);
      if (!log) store_block(y + i * step + c, e, count);
    }
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t j = 0; j < half; ++j) store(lane[j], load(lane[j]) + load(lane[j + half]));
    }
    const F32x16 s = log ? lanes::log(load(lane[0])) : load(lane[0]);
    for (size_t i = 0; i < n; ++i) {
      float* to = y + i * step + c;
      const F32x16 v =
          log ? (load_block(x + i * step + c, count) - m) - s : load_block(to, count) / s;
      store_block(to, lanes::canonical(v), count);
    }
  });
}

// Short rows sixteen at a time, turned to columns and back.
void log_softmax_rows(const float* x, float* y, size_t rows, size_t n) {
  constexpr size_t kShort = 64;
  alignas(64) float in[16 * kShort], out[16 * kShort];
  size_t r = 0;
  for (; n <= kShort && r + 16 <= rows; r += 16) {
    pack_transposed(x + r * n, n, 16, n, in, 16);
    softmax_columns(true, in, out, n, 16, 16);
    for (size_t i = 0; i < n; i += 16) {
      const size_t some = least(16, n - i);
      alignas(64) float back[16 * 16];
      pack_transposed(out + i * 16, 16, some, 16, back, 16);
      for (size_t row = 0; row < 16; ++row)
        store_block(y + (r + row) * n + i, load(back + row * 16), some);
    }
  }
  for (; r < rows; ++r) log_softmax_row(x + r * n, y + r * n, n);
}

void log_sum_exp_columns(const float* x, float* y, size_t n, size_t step, size_t cols) {
  blocks(cols, [&](size_t c, size_t count) {
    F32x16 m(-__builtin_inff());
    for (size_t i = 0; i < n; ++i) m = lanes::max(m, load_block(x + i * step + c, count));
    m = select(lanes::abs(m) == F32x16(__builtin_inff()), F32x16(0.0f), m);
    alignas(64) float lane[16][16];
    for (size_t j = 0; j < 16; ++j) store(lane[j], F32x16(0.0f));
    for (size_t i = 0; i < n; ++i) {
      const F32x16 e = lanes::exp(load_block(x + i * step + c, count) - m);
      store(lane[i % 16], load(lane[i % 16]) + e);
    }
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t j = 0; j < half; ++j) store(lane[j], load(lane[j]) + load(lane[j + half]));
    }
    store_block(y + c, lanes::canonical(lanes::log(load(lane[0])) + m), count);
  });
}

void moments(const float* x, size_t n, float epsilon, float* mean, float* inv) {
  F32x16 total(0.0f), squares(0.0f);
  blocks(n, [&](size_t i, size_t count) { total = total + load_block(x + i, count); });
  *mean = sum(total) / float(n);
  const F32x16 m(*mean);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const F32x16 d = load(x + i) - m;
    squares = squares + d * d;
  }
  if (i < n) {
    // Lanes behind the end must add +0.
    float square[16];
    const F32x16 d = load_block(x + i, n - i) - m;
    store(square, d * d);
    squares = squares + load_n(square, n - i);
  }
  *inv = 1.0f / __builtin_sqrtf(sum(squares) / float(n) + epsilon);
}

float inverse_rms(const float* x, size_t n, float epsilon) {
  F32x16 squares(0.0f);
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 v = load_block(x + i, count);
    squares = squares + v * v;
  });
  return 1.0f / __builtin_sqrtf(sum(squares) / float(n) + epsilon);
}

void normalize_row(const float* x, float* y, size_t n, float mean, float inv, const float* scale,
                   const float* bias) {
  blocks(n, [&](size_t i, size_t count) {
    F32x16 v =
        ((load_block(x + i, count) - F32x16(mean)) * F32x16(inv)) * load_block(scale + i, count);
    if (bias != nullptr) v = v + load_block(bias + i, count);
    store_block(y + i, lanes::canonical(v), count);
  });
}

void normalize_plane(const float* x, float* y, size_t n, float mean, float inv, float scale,
                     float bias) {
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 v =
        ((load_block(x + i, count) - F32x16(mean)) * F32x16(inv)) * F32x16(scale) + F32x16(bias);
    store_block(y + i, lanes::canonical(v), count);
  });
}

void scale_row(const float* x, float* y, size_t n, float inv, const float* scale) {
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 v = (load_block(x + i, count) * F32x16(inv)) * load_block(scale + i, count);
    store_block(y + i, lanes::canonical(v), count);
  });
}

void weigh_row(const float* x, float* y, size_t n, float weight) {
  blocks(n, [&](size_t i, size_t count) {
    store_block(y + i, lanes::canonical(load_block(x + i, count) * F32x16(weight)), count);
  });
}

void add_weighed_row(const float* x, float* y, size_t n, float weight) {
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 term = load_block(x + i, count) * F32x16(weight);
    store_block(y + i, lanes::canonical(load_block(y + i, count) + term), count);
  });
}

void blend_rows(const float* a, float wa, const float* b, float wb, float* y, size_t n) {
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 left = load_block(a + i, count) * F32x16(wa);
    const F32x16 right = load_block(b + i, count) * F32x16(wb);
    store_block(y + i, lanes::canonical(left + right), count);
  });
}

void rotate_halves(const float* x, const float* cos, const float* sin, const float* scale, float* y,
                   size_t half) {
  blocks(half, [&](size_t i, size_t count) {
    const F32x16 a = load_block(x + i, count), b = load_block(x + half + i, count);
    F32x16 one = a * load_block(cos + i, count) - b * load_block(sin + i, count);
    F32x16 two = b * load_block(cos + half + i, count) + a * load_block(sin + half + i, count);
    if (scale != nullptr) {
      one = one * F32x16(*scale);
      two = two * F32x16(*scale);
    }
    store_block(y + i, lanes::canonical(one), count);
    store_block(y + half + i, lanes::canonical(two), count);
  });
}

void shift_plane(const float* x, float* y, size_t n, float mean, float scale, float bias) {
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 v = (load_block(x + i, count) - F32x16(mean)) * F32x16(scale) + F32x16(bias);
    store_block(y + i, lanes::canonical(v), count);
  });
}

void shift_row(const float* x, float* y, size_t n, const float* mean, const float* scale,
               const float* bias) {
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 d = load_block(x + i, count) - load_block(mean + i, count);
    store_block(y + i,
                lanes::canonical(d * load_block(scale + i, count) + load_block(bias + i, count)),
                count);
  });
}

void lrn_row(const float* x, float* y, size_t n, const float* first, size_t channels, size_t step,
             float bias, float factor, float beta) {
  blocks(n, [&](size_t i, size_t count) {
    F32x16 squares(0.0f);
    for (size_t c = 0; c < channels; ++c) {
      const F32x16 v = load_block(first + c * step + i, count);
      squares = squares + v * v;
    }
    const F32x16 below = lanes::pow(F32x16(bias) + F32x16(factor) * squares, F32x16(beta));
    store_block(y + i, lanes::canonical(load_block(x + i, count) / below), count);
  });
}

}  // namespace sdx::SDX_ISA
