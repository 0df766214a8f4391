#include "kernel/window/grid_sample.h"

#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {
namespace {

SDX_INLINE M16 load_mask(const int32_t* p) { return I32x16::load(p) < I32x16(0); }
SDX_INLINE void store_mask(int32_t* p, M16 m) { select(m, I32x16(-1), I32x16(0)).store(p); }

// Sixteen points; `position` may be NaN.
SDX_INLINE void sixteen_taps(const GridAxis& a, F32x16 position, GridTaps* taps, size_t first) {
  const F32x16 n{float(a.size)}, last{float(a.size) - 1.0f}, one(1.0f), two(2.0f), zero(0.0f);
  position = select(lanes::is_nan(position), F32x16(-1.0f), position);
  F32x16 x = a.align_corners ? (position + one) / two * last : ((position + one) * n - one) / two;
  // An infinity times the 0 of an axis of one element is NaN: it lies before the first border.
  x = min_raw(max_raw(x, F32x16(-0x1p30f)), F32x16(0x1p30f));
  if (a.border) {
    const F32x16 low(a.align_corners ? 0.0f : -0.5f);
    const F32x16 high = a.align_corners ? last : n - F32x16(0.5f);
    x = select((x < low) | (x > high), min_raw(max_raw(x, zero), last), x);
  }
  const F32x16 base = floor(x), t = x - base;
  for (const int k : {0, 1}) {
    // Sizes are below 2^24, so a place beyond it lies outside, rounded or not.
    const F32x16 at = k == 0 ? base : base + one, weight = k == 0 ? one - t : t;
    const F32x16 within = min_raw(max_raw(at, zero), last);
    M16 counts = weight != zero;
    if (!a.border) counts = counts & (at == within);
    to_i32(within).store(taps->index[k] + first);
    weight.store(taps->weight[k] + first);
    store_mask(taps->mask[k] + first, counts);
  }
}

}  // namespace

void grid_taps(const GridAxis& a, const float* position, size_t step, size_t count,
               GridTaps* taps) {
  float some[GridTaps::kMost] = {};
  for (size_t i = 0; i < count; ++i) some[i] = position[i * step];
  for (size_t i = 0; i < count; i += 16) sixteen_taps(a, load(some + i), taps, i);
}

void grid_blend(const GridImages& g, const GridTaps& rows, const GridTaps& columns, size_t count) {
  constexpr size_t kMost = GridTaps::kMost;
  const size_t padded = (count + 15) / 16 * 16;
  size_t at[2][2][kMost], image = 0, point = g.first;
  for (size_t i = 0; i < padded; ++i) {
    for (const int r : {0, 1}) {
      const size_t row = image + size_t(rows.index[r][i]) * g.width;
      for (const int c : {0, 1}) at[r][c][i] = row + size_t(columns.index[c][i]);
    }
    if (++point == g.points && i + 1 < count) point = 0, image += g.plane;
  }
  const F32x16 zero(0.0f);
  const float* x = g.x;
  float* y = g.y;
  for (size_t channel = 0; channel < g.channels; ++channel, x += g.plane, y += g.points) {
    // All reads before the sums: a vector of what has just been stored in parts would wait.
    alignas(64) float pixel[2][2][kMost];
    for (const int r : {0, 1}) {
      for (const int c : {0, 1}) {
        for (size_t i = 0; i < padded; ++i) pixel[r][c][i] = x[at[r][c][i]];
      }
    }
    for (size_t i = 0; i < count; i += 16) {
      const auto counted = [&](const GridTaps& taps, int k, F32x16 v)
          __attribute__((always_inline)) {
        return select(load_mask(taps.mask[k] + i), load(taps.weight[k] + i) * v, zero);
      };
      const auto row = [&](int r) __attribute__((always_inline)) {
        return (zero + counted(columns, 0, load(pixel[r][0] + i))) +
               counted(columns, 1, load(pixel[r][1] + i));
      };
      const F32x16 sum = (zero + counted(rows, 0, row(0))) + counted(rows, 1, row(1));
      const size_t some = count - i < 16 ? count - i : 16;
      store_n(y + i, lanes::canonical(sum), some);
    }
  }
}

}  // namespace sdx::SDX_ISA
