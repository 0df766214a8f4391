#include "kernel/conv/blocked/work.h"
#include "kernel/epilogue/registers.h"
#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {
namespace {

size_t least(size_t a, size_t b) { return a < b ? a : b; }

#if defined(SDX_ISA_avx512)
constexpr int kPositions[] = {14, 8, 7, 4, 2, 1};
#elif defined(SDX_ISA_avx2)
constexpr int kPositions[] = {7, 4, 2, 1};
#else
constexpr int kPositions[] = {4, 1};
#endif
constexpr int kSizes = int(sizeof kPositions / sizeof *kPositions);

constexpr int kMostKernel = 7;
// Inputs of one row of a tile; a row of padding is read from here.
constexpr size_t kMostInputs = size_t((kPositions[0] - 1) * 2 + kMostKernel);
alignas(64) constexpr float kZeros[kMostInputs * kBlockLanes] = {};

// Some positions of one output row, one vector of channels.
struct Tile {
  const BlockedDepthwise* work;
  size_t row, column;
  size_t lane;      // of the first channel
  ptrdiff_t start;  // input column of the first tap; may lie in the padding
};

// Each input is taken once and goes to all the outputs that it meets, from left to right, so an
// output sees its taps in order. With Edges, columns beyond the input are zeros.
template <int Kernel, int Stride, int Positions, bool Edges>
void run_tile(const Tile& t) {
  const BlockedDepthwise& g = *t.work;
  const ConvShape& s = *g.shape;
  Vec acc[Positions];
  unroll<Positions>([&](auto p) __attribute__((always_inline)) { acc[p.value] = vec_zero(); });
  const float* w = g.weights + t.lane;
  for (size_t ky = 0; ky < s.kernel[1]; ++ky, w += Kernel * kBlockLanes) {
    // A row before the input wraps to a very large number.
    const size_t y = t.row * s.stride[1] + ky * s.dilation[1] - s.pad[1];
    const bool inside = y < s.in[1];
    const float* x = inside ? g.x + ptrdiff_t((y - g.x_begin) * s.in[2] * kBlockLanes) +
                                  t.start * ptrdiff_t(kBlockLanes) + t.lane
                            : kZeros + t.lane;
    Vec weight[Kernel];
    unroll<Kernel>([&](auto k) __attribute__((always_inline)) {
      weight[k.value] = vec_load(w + k.value * kBlockLanes);
    });
    unroll<(Positions - 1) * Stride + Kernel>([&](auto i) __attribute__((always_inline)) {
      const auto take = [&](Vec value) __attribute__((always_inline)) {
        unroll<Kernel>([&](auto k) __attribute__((always_inline)) {
          constexpr int kAt = i.value - k.value;
          if constexpr (kAt >= 0 && kAt % Stride == 0 && kAt / Stride < Positions) {
            acc[kAt / Stride] = vec_fma(weight[k.value], value, acc[kAt / Stride]);
          }
        });
      };
      if (Edges && size_t(t.start + i.value) >= s.in[2]) {
        take(vec_zero());
      } else {
        take(vec_load(x + i.value * kBlockLanes));
      }
    });
  }
  const size_t at = (t.row * s.out[2] + t.column) * kBlockLanes + t.lane;
  if (g.bias != nullptr) {
    const Vec bias = vec_load(g.bias + t.lane);
    unroll<Positions>([&](auto p) __attribute__((always_inline)) {
      acc[p.value] = vec_add(acc[p.value], bias);
    });
  }
  if (g.clamp.other != nullptr) {
    unroll<Positions>([&](auto p) __attribute__((always_inline)) {
      acc[p.value] = vec_add(acc[p.value], vec_load(g.clamp.other + at + p.value * kBlockLanes));
    });
  }
  const ClampRegisters end(g.clamp);
  unroll<Positions>([&](auto p) __attribute__((always_inline)) {
    vec_store(g.y + at + p.value * kBlockLanes, end(acc[p.value]));
  });
}

using TileFn = void (*)(const Tile&);
// By size and whether it meets an edge.
struct Tiles {
  TileFn fn[kSizes][2];
};
template <int Kernel, int Stride>
constexpr Tiles make_tiles() {
  Tiles tiles{};
  unroll<kSizes>([&](auto i) {
    tiles.fn[i.value][0] = &run_tile<Kernel, Stride, kPositions[i.value], false>;
    tiles.fn[i.value][1] = &run_tile<Kernel, Stride, kPositions[i.value], true>;
  });
  return tiles;
}
template <int Kernel>
constexpr Tiles kTilesOf[2] = {make_tiles<Kernel, 1>(), make_tiles<Kernel, 2>()};

}  // namespace

void conv_blocked_depthwise(const BlockedDepthwise& g) {
  const ConvShape& s = *g.shape;
  const size_t width = s.out[2], kernel = s.kernel[2], stride = s.stride[2];
  const Tiles& tiles = (kernel == 3   ? kTilesOf<3>
                        : kernel == 5 ? kTilesOf<5>
                                      : kTilesOf<7>)[stride - 1];
  // Rows that run before a program passes over them.
  const size_t together = width >= 64 ? 1 : (64 + width - 1) / width;
  for (size_t begin = g.row_begin; begin < g.row_end; begin += together) {
    const size_t end = least(begin + together, g.row_end);
    Tile t;
    t.work = &g;
    for (t.row = begin; t.row < end; ++t.row) {
      for (t.column = 0; t.column < width;) {
        int size = 0;
        while (size_t(kPositions[size]) > width - t.column) ++size;
        const auto positions = size_t(kPositions[size]);
        t.start = ptrdiff_t(t.column * stride) - ptrdiff_t(s.pad[2]);
        const bool edges =
            t.start < 0 || size_t(t.start) + (positions - 1) * stride + kernel > s.in[2];
        for (t.lane = 0; t.lane < kBlockLanes; t.lane += kLanes) tiles.fn[size][edges](t);
        t.column += positions;
      }
    }
    if (g.epilogue.fn != nullptr) {
      const size_t at = begin * width * kBlockLanes, count = (end - begin) * width * kBlockLanes;
      g.epilogue.fn(g.epilogue.ctx, g.y + at, count, g.row, at, 1, count);
    }
  }
}

}  // namespace sdx::SDX_ISA
