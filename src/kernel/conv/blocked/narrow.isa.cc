// Groups of 4 or 8 channels in and out, which share a block of 16 with their neighbours: each lane
// takes the channels of its own group.
#include <utility>

#include "kernel/conv/blocked/tiles.h"

namespace sdx::SDX_ISA {

using namespace blocked;

namespace {

template <int Width, int C, int... Lanes>
[[gnu::always_inline]] inline F32 permuted(F32 x, std::integer_sequence<int, Lanes...>) {
  return RawF32(__builtin_shufflevector(x.v, x.v, (Lanes / Width * Width + C)...));
}

// Channel C of each lane's group, for vector V of a block that begins at x.
template <int Width, int C, int V>
[[gnu::always_inline]] inline auto of_each_group(const float* x) {
  constexpr int kFirst = V * kLanes;
  if constexpr (kLanes <= Width) {
    return Each(x[kFirst / Width * Width + C]);
  } else {
    return permuted<Width, C>(F32::load(x + kFirst), std::make_integer_sequence<int, kLanes>{});
  }
}

template <int Rows, int Positions, int Width>
void run_tile(const Tile& t) {
  const BlockedWork& g = *t.work;
  TileSums<Rows, Positions, kBlockVecs> sums;
  sums.begin(t);
  Inputs<Rows, Positions> x(t);
  for (size_t tap = 0; tap < g.taps; ++tap) {
    x.go_to(g.tap[tap]);
    const float* w = t.w + g.tap_at[tap] * Width * kBlockLanes;
    unroll<Width>([&](auto c) __attribute__((always_inline)) {
      F32 weight[kBlockVecs];
      repeat<kBlockVecs>([&](int v) __attribute__((always_inline)) {
        weight[v] = F32::load(w + c.value * int(kBlockLanes) + v * kLanes);
      });
      repeat<Rows>([&](int r) __attribute__((always_inline)) {
        repeat<Positions>([&](int p) __attribute__((always_inline)) {
          unroll<kBlockVecs>([&](auto v) __attribute__((always_inline)) {
            F32& sum = sums.acc[r][p][v.value];
            sum = fma(of_each_group<Width, c.value, v.value>(x.at(r, p)), weight[v.value], sum);
          });
        });
      });
    });
  }
  sums.end(t);
}

// By rows - 1 and positions - 1.
struct NarrowTiles {
  TileFn fn[2][kPositions];
};
template <int Width>
constexpr NarrowTiles make_tiles() {
  NarrowTiles tiles{};
  unroll<kPositions>([&](auto p) { tiles.fn[0][p.value] = &run_tile<1, p.value + 1, Width>; });
  unroll<kAcrossRows ? 0 : kPositionsTwoRows>(
      [&](auto p) { tiles.fn[1][p.value] = &run_tile<2, p.value + 1, Width>; });
  return tiles;
}
template <int Width>
constexpr NarrowTiles kTiles = make_tiles<Width>();

}  // namespace

void conv_blocked_narrow_tiles(const BlockedWork& g) {
  const NarrowTiles& tiles = g.channels == 4 ? kTiles<4> : kTiles<8>;
  Tile t{};
  t.work = &g;
  t.last = g.channels;
  t.w = g.weights;
  t.bias = g.bias;
  t.y = g.y;
  t.other = g.clamp.other;
  for (size_t begin = g.tile_begin; begin < g.tile_end; begin += kTogether) {
    const size_t end = least(begin + kTogether, g.tile_end);
    Positions positions(g, begin);
    for (size_t i = begin; i < end; ++i) {
      const Spot s = spot_of(g.cut, i);
      positions.set(s, t);
      tiles.fn[s.rows - 1][s.columns - 1](t);
    }
    if (g.epilogue.fn != nullptr) run_epilogue(g, 0, 1, begin, end);
  }
}

}  // namespace sdx::SDX_ISA
