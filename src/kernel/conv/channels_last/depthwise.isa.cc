#include "kernel/conv/channels_last/conv_channels_last.h"
#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {
namespace {

#if defined(SDX_ISA_avx512)
constexpr int kPositions[] = {14, 8, 7, 4, 2, 1};
#elif defined(SDX_ISA_avx2)
constexpr int kPositions[] = {7, 4, 2, 1};
#else
constexpr int kPositions[] = {4, 1};
#endif
constexpr int kSizes = int(sizeof kPositions / sizeof *kPositions);

// A row of padding is read from here, over and over.
alignas(64) constexpr float kZeros[kLanes] = {};

// Some positions of one output row, one vector of channels.
struct Tile {
  const ChannelsLastDepthwise* work;
  size_t row, column;
  size_t channel;
  ptrdiff_t start;  // input column of the first tap; may lie in the padding
};

// Each input is taken once and goes to all the outputs that it meets, from left to right, so an
// output sees its taps in order. With Edges, columns beyond the input are zeros.
template <int Kernel, int Stride, int Positions, bool Edges>
void run_tile(const Tile& t) {
  const ChannelsLastDepthwise& g = *t.work;
  const ConvShape& s = *g.shape;
  const auto channels = ptrdiff_t(s.in_channels);
  Vec acc[Positions];
  unroll<Positions>([&](auto p) __attribute__((always_inline)) { acc[p.value] = vec_zero(); });
  const float* w = g.weights + t.channel;
  for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
    Vec weight[Kernel];
    unroll<Kernel>([&](auto k) __attribute__((always_inline)) {
      weight[k.value] = vec_load(w);
      w += channels;
    });
    // A row before the input wraps to a very large number.
    const size_t y = t.row * s.stride[1] + ky * s.dilation[1] - s.pad[1];
    const bool inside = y < s.in[1];
    const float* x =
        inside ? g.x + t.channel + (ptrdiff_t(y * s.in[2]) + t.start) * channels : kZeros;
    const ptrdiff_t step = inside ? channels : 0;
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
        take(vec_load(x));
      }
      x += step;
    });
  }
  if (g.bias != nullptr) {
    const Vec bias = vec_load(g.bias + t.channel);
    unroll<Positions>([&](auto p) __attribute__((always_inline)) {
      acc[p.value] = vec_add(acc[p.value], bias);
    });
  }
  float* y = g.y + ptrdiff_t(t.row * s.out[2] + t.column) * channels + t.channel;
  unroll<Positions>([&](auto p) __attribute__((always_inline)) {
    vec_store(y, vec_canonical(acc[p.value]));
    y += channels;
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

// A size that leaves no rest, if it is long enough for the chains to hide each other's latency.
int size_for(size_t width) {
  for (int size = 0; size < kSizes && kPositions[size] >= 4; ++size) {
    if (width % size_t(kPositions[size]) == 0) return size;
  }
  return 0;
}

}  // namespace

void conv_channels_last_depthwise(const ChannelsLastDepthwise& g) {
  const ConvShape& s = *g.shape;
  const size_t width = s.out[2], kernel = s.kernel[2], stride = s.stride[2];
  const Tiles& tiles = (kernel == 3   ? kTilesOf<3>
                        : kernel == 5 ? kTilesOf<5>
                                      : kTilesOf<7>)[stride - 1];
  const int first = size_for(width);
  Tile t;
  t.work = &g;
  for (t.row = g.row_begin; t.row < g.row_end; ++t.row) {
    for (t.channel = 0; t.channel < s.in_channels; t.channel += kLanes) {
      for (t.column = 0; t.column < width;) {
        int size = first;
        while (size_t(kPositions[size]) > width - t.column) ++size;
        const auto positions = size_t(kPositions[size]);
        t.start = ptrdiff_t(t.column * stride) - ptrdiff_t(s.pad[2]);
        const bool edges =
            t.start < 0 || size_t(t.start) + (positions - 1) * stride + kernel > s.in[2];
        tiles.fn[size][edges](t);
        t.column += positions;
      }
    }
  }
}

}  // namespace sdx::SDX_ISA
