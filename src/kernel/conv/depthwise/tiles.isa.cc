#include "kernel/conv/depthwise/tiles.h"

#include "kernel/epilogue/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

// Padding is read from here, over and over.
alignas(64) constexpr float kZeros[kLanes] = {};

// What follows the sums of a tile.
template <int Positions>
[[gnu::always_inline]] inline void store_tile(const DepthwiseTile& t, const F32 (&acc)[Positions]) {
  const auto step = ptrdiff_t(t.step);
  const ptrdiff_t at = ptrdiff_t(t.row * t.shape->out[2] + t.column) * step;
  const ClampRegisters end(t.clamp);
  const float* other = t.clamp.other == nullptr ? nullptr : t.clamp.other + at;
  float* y = t.y + at;
  repeat<Positions>([&](int p) __attribute__((always_inline)) {
    F32 sum = acc[p];
    if (t.bias != nullptr) sum = sum + F32::load(t.bias);
    if (other != nullptr) sum = sum + F32::load(other + p * step);
    end(sum).store(y + p * step);
  });
}

// Kernels of any width, stride and dilation: the outputs take one tap after the other.
template <int Positions>
void run_any(const DepthwiseTile& t) {
  const ConvShape& s = *t.shape;
  const auto step = ptrdiff_t(t.step), stride = ptrdiff_t(s.stride[2]);
  F32 acc[Positions];
  repeat<Positions>([&](int p) __attribute__((always_inline)) { acc[p] = F32(0.0f); });
  const float* w = t.weights;
  for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
    const size_t row = t.row * s.stride[1] + ky * s.dilation[1] - s.pad[1];
    const size_t columns = row < s.in[1] ? s.in[2] : 0;  // that are no padding
    const float* line = t.x + ptrdiff_t(row - t.x_begin) * ptrdiff_t(s.in[2]) * step;
    for (size_t kx = 0; kx < s.kernel[2]; ++kx, w += step) {
      const F32 weight = F32::load(w);
      // Of the first output; one before the input wraps to a very large number.
      const size_t first = t.column * s.stride[2] + kx * s.dilation[2] - s.pad[2];
      if (first < columns && first + (Positions - 1) * s.stride[2] < columns) {
        const float* x = line + ptrdiff_t(first) * step;
        repeat<Positions>([&](int p) __attribute__((always_inline)) {
          acc[p] = fma(weight, F32::load(x + p * stride * step), acc[p]);
        });
        continue;
      }
      repeat<Positions>([&](int p) __attribute__((always_inline)) {
        const size_t column = first + p * s.stride[2];
        const float* x = column < columns ? line + ptrdiff_t(column) * step : kZeros;
        acc[p] = fma(weight, F32::load(x), acc[p]);
      });
    }
  }
  store_tile<Positions>(t, acc);
}

// The commonest kernels: each input is taken once and goes to all the outputs that it meets, from
// left to right, so an output sees its taps in order.
template <int Kernel, int Stride, int Positions>
void run_tile(const DepthwiseTile& t) {
  const ConvShape& s = *t.shape;
  const auto step = ptrdiff_t(t.step);
  // The first tap's column; one before the input wraps to a very large number.
  const size_t start = t.column * Stride - s.pad[2], width = s.in[2];
  F32 acc[Positions];
  repeat<Positions>([&](int p) __attribute__((always_inline)) { acc[p] = F32(0.0f); });
  const float* w = t.weights;
  for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
    F32 weight[Kernel];
    repeat<Kernel>([&](int k) __attribute__((always_inline)) {
      weight[k] = F32::load(w);
      w += step;
    });
    const size_t row = t.row * s.stride[1] + ky * s.dilation[1] - s.pad[1];
    const size_t columns = row < s.in[1] ? width : 0;  // that are no padding
    const float* x =
        t.x + (ptrdiff_t(row - t.x_begin) * ptrdiff_t(width) + ptrdiff_t(start)) * step;
    repeat<(Positions - 1) * Stride + Kernel>([&](int i) __attribute__((always_inline)) {
      const F32 value = F32::load(start + size_t(i) < columns ? x : kZeros);
      repeat<Kernel>([&](int k) __attribute__((always_inline)) {
        const int at = i - k;
        if (at >= 0 && at % Stride == 0 && at / Stride < Positions) {
          acc[at / Stride] = fma(weight[k], value, acc[at / Stride]);
        }
      });
      x += step;
    });
  }
  store_tile<Positions>(t, acc);
}

template <int Kernel, int Stride>
constexpr DepthwiseTiles make_tiles() {
  DepthwiseTiles tiles{};
  unroll<kDepthwiseSizes>([&](auto i) {
    tiles.run[i.value] = &run_tile<Kernel, Stride, kDepthwisePositions[i.value]>;
  });
  return tiles;
}
template <int Kernel>
constexpr DepthwiseTiles kTilesOf[2] = {make_tiles<Kernel, 1>(), make_tiles<Kernel, 2>()};

constexpr DepthwiseTiles make_any() {
  DepthwiseTiles tiles{};
  unroll<kDepthwiseSizes>(
      [&](auto i) { tiles.run[i.value] = &run_any<kDepthwisePositions[i.value]>; });
  return tiles;
}
constexpr DepthwiseTiles kAnyTiles = make_any();

}  // namespace

const DepthwiseTiles& depthwise_tiles(const ConvShape& s) {
  const bool common = s.kernel[2] == 3 || s.kernel[2] == 5 || s.kernel[2] == 7;
  if (!common || s.stride[2] > 2 || s.dilation[2] != 1) return kAnyTiles;
  const auto& by_stride = s.kernel[2] == 3   ? kTilesOf<3>
                          : s.kernel[2] == 5 ? kTilesOf<5>
                                             : kTilesOf<7>;
  return by_stride[s.stride[2] - 1];
}

}  // namespace sdx::SDX_ISA
