#include "kernel/conv/planes/work.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"
#include "kernel/window/stage_phases.h"

namespace sdx::SDX_ISA {
namespace {

// Rows x Vecs vectors of one output plane side by side: enough chains to hide the latency of the
// multiply-adds.
struct DepthwiseTile {
  const float* x;
  size_t row_step;  // of x, from one output row to the next
  const float* w;
  const size_t* offset;
  size_t taps;
  const float* bias;
  float* y;
  size_t width, cols;
};

template <int Rows, int Vecs>
[[gnu::always_inline]] inline void store_outputs(const DepthwiseTile& t,
                                                 const F32 (&acc)[Rows][Vecs]) {
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      F32 out = acc[r][v];
      if (t.bias != nullptr) out = out + F32(*t.bias);
      out = lanes::canonical(out);
      float* y = t.y + r * t.width + v * kLanes;
      const size_t left = t.cols - v * kLanes;
      if (left >= size_t(kLanes)) {
        out.store(y);
      } else {
        store_first(y, out, left);
      }
    });
  });
}

template <int Rows, int Vecs>
void depthwise_tile(const DepthwiseTile& t) {
  F32 acc[Rows][Vecs];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = F32(0.0f); });
  });
  for (size_t tap = 0; tap < t.taps; ++tap) {
    const F32 w = F32(t.w[tap]);
    const float* x = t.x + t.offset[tap];
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        const F32 value = F32::load(x + r * t.row_step + v * kLanes);
        acc[r][v] = fma(w, value, acc[r][v]);
      });
    });
  }
  store_outputs<Rows, Vecs>(t, acc);
}

using DepthwiseFn = void (*)(const DepthwiseTile&);
constexpr int kMostVecs = 4, kMostRows = 4;
struct DepthwiseTable {
  DepthwiseFn fn[kMostRows][kMostVecs];
};
constexpr DepthwiseTable make_depthwise_table() {
  DepthwiseTable table{};
  unroll<kMostRows>([&](auto r) {
    unroll<kMostVecs>(
        [&](auto v) { table.fn[r.value][v.value] = &depthwise_tile<r.value + 1, v.value + 1>; });
  });
  return table;
}
constexpr DepthwiseTable kDepthwiseTiles = make_depthwise_table();

// The commonest kernel, 3 x 3 with dilation 1, for Rows rows at once: an input vector is loaded
// once for all the output rows that it meets. Input rows come in ascending order, so each output
// still sees its taps in the order of the reduction.
template <int Rows, int Vecs, int Stride>
void depthwise_3x3(const DepthwiseTile& t, size_t in_step) {
  F32 acc[Rows][Vecs], w[9];
  repeat<9>([&](int i) __attribute__((always_inline)) { w[i] = F32(t.w[i]); });
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = F32(0.0f); });
  });
  repeat<(Rows - 1) * Stride + 3>([&](int y) __attribute__((always_inline)) {
    repeat<3>([&](int kx) __attribute__((always_inline)) {
      const float* x = t.x + y * in_step + t.offset[kx];
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        const F32 value = F32::load(x + v * kLanes);
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
          const int ky = y - r * Stride;
          if (ky >= 0 && ky < 3) {
            acc[r][v] = fma(w[3 * ky + kx], value, acc[r][v]);
          }
        });
      });
    });
  });
  store_outputs<Rows, Vecs>(t, acc);
}

bool is_3x3(const ConvShape& s) {
  return s.kernel[0] == 1 && s.kernel[1] == 3 && s.kernel[2] == 3 && s.dilation[1] == 1 &&
         s.stride[1] <= 2;
}

// Twice as many vectors at once where there are registers for them.
constexpr int kVecs3x3 = kLanes == 16 ? 2 : 1;

using Depthwise3x3Fn = void (*)(const DepthwiseTile&, size_t in_step);
// [rows - 1][vectors - 1]
template <int Stride>
constexpr Depthwise3x3Fn k3x3[kMostRows][2] = {
    {depthwise_3x3<1, 1, Stride>, depthwise_3x3<1, kVecs3x3, Stride>},
    {depthwise_3x3<2, 1, Stride>, depthwise_3x3<2, kVecs3x3, Stride>},
    {depthwise_3x3<3, 1, Stride>, depthwise_3x3<3, kVecs3x3, Stride>},
    {depthwise_3x3<4, 1, Stride>, depthwise_3x3<4, kVecs3x3, Stride>}};

void run_3x3(const ConvShape& s, const Staged& staged, const float* x, float* y, DepthwiseTile t) {
  const size_t in_step = staged.dims[2], width = s.out[2];
  for (size_t plane = 0; plane < s.out[0]; ++plane) {
    for (size_t oy = 0; oy < s.out[1];) {
      const size_t rows = s.out[1] - oy < kMostRows ? s.out[1] - oy : kMostRows;
      for (size_t ox = 0; ox < width;) {
        const size_t left = width - ox;
        t.x = x + staged.base(s, plane, oy, ox);
        t.y = y + (plane * s.out[1] + oy) * width + ox;
        const bool wide = left > size_t(kLanes) && kVecs3x3 == 2;
        const size_t most = wide ? 2 * kLanes : kLanes;
        t.cols = left < most ? left : most;
        (s.stride[1] == 1 ? k3x3<1> : k3x3<2>)[rows - 1][wide](t, in_step);
        ox += t.cols;
      }
      oy += rows;
    }
  }
}

// The chains of Vecs vectors of outputs from `at` on, of a plane in phases.
template <int Vecs>
void phases_tile(const PhasesPlane& p, size_t taps, size_t at) {
  F32 acc[Vecs];
  repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[v] = F32(0.0f); });
  for (size_t k = 0; k < taps; ++k) {
    const F32 w = F32(p.w[k]);
    const float* x = p.staged + p.tap[k] + at;
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      acc[v] = fma(w, F32::load(x + v * kLanes), acc[v]);
    });
  }
  repeat<Vecs>([&](int v)
                   __attribute__((always_inline)) { acc[v].store(p.sums + at + v * kLanes); });
}
constexpr int kPhasesVecs = kLanes == 4 ? 4 : 8;
constexpr void (*kPhasesTiles[])(const PhasesPlane&, size_t, size_t) = {
    phases_tile<1>, phases_tile<2>, phases_tile<3>, phases_tile<4>,
    phases_tile<5>, phases_tile<6>, phases_tile<7>, phases_tile<8>};

}  // namespace

void conv_phases_stage(const ConvShape& s, const PhaseRows* phase, const float* plane,
                       float* staged) {
  const size_t count = phase_count(s), size = phase_size(s);
  for (size_t i = 0; i < count; ++i) {
    stage_phase<Borders::keep>(
        s, phase[i], plane, F32x16(0.0f), staged + i * size,
        [](F32x16 some) __attribute__((always_inline)) { return some; });
  }
}

void conv_phases_depthwise(const ConvShape& s, const PhasesPlane& p) {
  const size_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2], end = outputs_span(s);
  for (size_t at = 0; at < end;) {
    const size_t left = (end - at + kLanes - 1) / kLanes;
    const size_t vecs = left < kPhasesVecs ? left : kPhasesVecs;
    kPhasesTiles[vecs - 1](p, taps, at);
    at += vecs * kLanes;
  }
  const size_t width = s.out[2], rows = s.out[1], down = phase_dim(s, 1), along = phase_dim(s, 2);
  const F32x16 bias(p.bias == nullptr ? 0.0f : *p.bias);
  const auto done = [&](const float* from) __attribute__((always_inline)) {
    const F32x16 sum = load(from);
    return lanes::canonical(p.bias == nullptr ? sum : sum + bias);
  };
  float* y = p.y;
  for (size_t z = 0; z < s.out[0]; ++z) {
    for (size_t r = 0; r < rows; ++r, y += width) {
      const float* from = p.sums + (z * down + r) * along;
      size_t i = 0;
      for (; i + 16 <= width; i += 16) store(y + i, done(from + i));
      if (i < width) store_n(y + i, done(from + i), width - i);
    }
  }
}

void conv_planes_depthwise(const ConvShape& s, const Staged& staged, const size_t* offset,
                           const float* x, const float* w, const float* bias, float* y) {
  DepthwiseTile t;
  t.taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  t.offset = offset;
  t.row_step = s.stride[1] * staged.dims[2];
  t.w = w;
  t.bias = bias;
  t.width = s.out[2];
  if (is_3x3(s)) return run_3x3(s, staged, x, y, t);
  for (size_t oz = 0; oz < s.out[0]; ++oz) {
    for (size_t oy = 0; oy < s.out[1];) {
      const size_t rows = s.out[1] - oy < kMostRows ? s.out[1] - oy : kMostRows;
      const DepthwiseFn* tiles = kDepthwiseTiles.fn[rows - 1];
      for (size_t ox = 0; ox < s.out[2]; ox += kMostVecs * kLanes) {
        const size_t left = s.out[2] - ox, most = kMostVecs * kLanes;
        t.cols = left < most ? left : most;
        t.x = x + staged.base(s, oz, oy, ox);
        t.y = y + (oz * s.out[1] + oy) * s.out[2] + ox;
        tiles[(t.cols + kLanes - 1) / kLanes - 1](t);
      }
      oy += rows;
    }
  }
}

}  // namespace sdx::SDX_ISA
