#include "kernel/conv/block.h"
#include "kernel/gemm/tile.h"

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
void depthwise_tile(const DepthwiseTile& t) {
  Vec acc[Rows][Vecs];
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v)
                     __attribute__((always_inline)) { acc[r.value][v.value] = vec_zero(); });
  });
  for (size_t tap = 0; tap < t.taps; ++tap) {
    const Vec w = vec_set(t.w[tap]);
    const float* x = t.x + t.offset[tap];
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        const Vec value = vec_load(x + r.value * t.row_step + v.value * kLanes);
        acc[r.value][v.value] = vec_fma(w, value, acc[r.value][v.value]);
      });
    });
  }
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      Vec out = acc[r.value][v.value];
      if (t.bias != nullptr) out = vec_add(out, vec_set(*t.bias));
      out = vec_canonical(out);
      float* y = t.y + r.value * t.width + v.value * kLanes;
      const size_t left = t.cols - v.value * kLanes;
      if (left >= size_t(kLanes)) {
        vec_store(y, out);
      } else {
        vec_store(y, out, left);
      }
    });
  });
}

using DepthwiseFn = void (*)(const DepthwiseTile&);
constexpr int kMostVecs = 4;
constexpr DepthwiseFn kOneRow[kMostVecs] = {depthwise_tile<1, 1>, depthwise_tile<1, 2>,
                                            depthwise_tile<1, 3>, depthwise_tile<1, 4>};
constexpr DepthwiseFn kFourRows[kMostVecs] = {depthwise_tile<4, 1>, depthwise_tile<4, 2>,
                                              depthwise_tile<4, 3>, depthwise_tile<4, 4>};

}  // namespace

void conv_depthwise(const ConvShape& s, const Staged& staged, const float* x, const float* w,
                    const float* bias, float* y, size_t* offset) {
  DepthwiseTile t;
  t.taps = 0;
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      for (size_t kx = 0; kx < s.kernel[2]; ++kx)
        offset[t.taps++] = staged.tap_offset(s, kz, ky, kx);
    }
  }
  t.offset = offset;
  t.row_step = s.stride[1] * staged.dims[2];
  t.w = w;
  t.bias = bias;
  t.width = s.out[2];
  for (size_t oz = 0; oz < s.out[0]; ++oz) {
    for (size_t oy = 0; oy < s.out[1];) {
      const bool four = oy + 4 <= s.out[1];
      const DepthwiseFn* tiles = four ? kFourRows : kOneRow;
      for (size_t ox = 0; ox < s.out[2]; ox += kMostVecs * kLanes) {
        const size_t left = s.out[2] - ox, most = kMostVecs * kLanes;
        t.cols = left < most ? left : most;
        t.x = x + staged.base(s, oz, oy, ox);
        t.y = y + (oz * s.out[1] + oy) * s.out[2] + ox;
        tiles[(t.cols + kLanes - 1) / kLanes - 1](t);
      }
      oy += four ? 4 : 1;
    }
  }
}

}  // namespace sdx::SDX_ISA
