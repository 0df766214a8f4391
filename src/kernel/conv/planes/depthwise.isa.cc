#include "kernel/conv/planes/work.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

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
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      F32 out = acc[r.value][v.value];
      if (t.bias != nullptr) out = out + F32(*t.bias);
      out = lanes::canonical(out);
      float* y = t.y + r.value * t.width + v.value * kLanes;
      const size_t left = t.cols - v.value * kLanes;
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
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) { acc[r.value][v.value] = F32(0.0f); });
  });
  for (size_t tap = 0; tap < t.taps; ++tap) {
    const F32 w = F32(t.w[tap]);
    const float* x = t.x + t.offset[tap];
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        const F32 value = F32::load(x + r.value * t.row_step + v.value * kLanes);
        acc[r.value][v.value] = fma(w, value, acc[r.value][v.value]);
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
  unroll<9>([&](auto i) __attribute__((always_inline)) { w[i.value] = F32(t.w[i.value]); });
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) { acc[r.value][v.value] = F32(0.0f); });
  });
  unroll<(Rows - 1) * Stride + 3>([&](auto y) __attribute__((always_inline)) {
    unroll<3>([&](auto kx) __attribute__((always_inline)) {
      const float* x = t.x + y.value * in_step + t.offset[kx.value];
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        const F32 value = F32::load(x + v.value * kLanes);
        unroll<Rows>([&](auto r) __attribute__((always_inline)) {
          const int ky = y.value - r.value * Stride;
          if (ky >= 0 && ky < 3) {
            acc[r.value][v.value] = fma(w[3 * ky + kx.value], value, acc[r.value][v.value]);
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

}  // namespace

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
