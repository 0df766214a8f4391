#include "kernel/conv/blocked/tiles.h"

namespace sdx::SDX_ISA {

using namespace blocked;

namespace {

template <int Rows, int Positions, int Vecs>
void run_tile(const Tile& t) {
  const BlockedWork& g = *t.work;
  TileSums<Rows, Positions, Vecs> sums;
  sums.begin(t);
  const size_t w_block = t.w_block;
  const float* w_first = t.w;
  const char* ahead = t.ahead;
  const size_t ahead_lines = t.ahead_lines;
  Inputs<Rows, Positions> x(t);
  size_t block = t.first / kBlockLanes * g.block_step;
  for (size_t first = t.first; first < t.last; first += kBlockLanes, block += g.block_step) {
    const size_t count = least(kBlockLanes, t.last - first), w_tap = count * kBlockLanes;
    const float* beside = t.x[0] + block + Positions * g.x_pixel;
    for (size_t tap = 0; tap < g.taps; ++tap) {
      x.go_to(block + g.tap[tap]);
      const float* w = w_first + g.tap_at[tap] * w_tap;
      const size_t beside_step = tap == 0 ? g.x_pixel : 0;
      for (size_t i = kFetchWeights ? ahead_lines : 0; i != 0; --i, ahead += kLine) {
        repeat<Vecs / kBlockVecs>([&](int b) __attribute__((always_inline)) {
          __builtin_prefetch(ahead + b * w_block * sizeof(float), 0, 2);
        });
      }
      for (size_t c = count; c != 0; --c, x.next(), w += kBlockLanes) {
        if constexpr (!kFetchWeights) {
          __builtin_prefetch(beside, 0, 2);
          beside += beside_step;
        }
        F32 weight[Vecs];
        repeat<Vecs>([&](int v) __attribute__((always_inline)) {
          const size_t channel = size_t(v * kLanes);
          weight[v] = F32::load(w + channel / kBlockLanes * w_block + channel % kBlockLanes);
        });
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
          repeat<Positions>([&](int p) __attribute__((always_inline)) {
            const Each value(*x.at(r, p));
            repeat<Vecs>([&](int v) __attribute__((always_inline)) {
              F32& sum = sums.acc[r][p][v];
              sum = fma(value, weight[v], sum);
            });
          });
        });
      }
    }
    w_first += g.all_taps * w_tap;
  }
  sums.end(t);
}

// By rows - 1, blocks - 1 and positions - 1.
struct Tiles {
  TileFn fn[2][kTileBlocks][kPositions];
};
constexpr Tiles make_tiles() {
  Tiles tiles{};
  unroll<int(kTileBlocks)>([&](auto b) {
    constexpr int kSome = (b.value + 1) * kBlockVecs;
    unroll<kPositions>(
        [&](auto p) { tiles.fn[0][b.value][p.value] = &run_tile<1, p.value + 1, kSome>; });
    unroll<kAcrossRows ? 0 : kPositionsTwoRows>(
        [&](auto p) { tiles.fn[1][b.value][p.value] = &run_tile<2, p.value + 1, kSome>; });
  });
  return tiles;
}
constexpr Tiles kTiles = make_tiles();

// The chains of a plane of one position: several blocks at once, or there would be too few to hide
// the latency of a multiply-add.
constexpr int kBlocksAtOnce = kLanes < 8 ? 1 : 8 / kBlockVecs;

template <int Blocks>
void run_position(const BlockedWork& g, size_t block) {
  const size_t depth = g.channels * g.taps;
  F32 acc[Blocks][kBlockVecs];
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    repeat<Blocks>([&](int i) __attribute__((always_inline)) {
      repeat<kBlockVecs>([&](int v) __attribute__((always_inline)) { f(i, v); });
    });
  };
  each([&](int i, int v) __attribute__((always_inline)) { acc[i][v] = F32(0.0f); });
  const float* w = g.weights + block * kBlockLanes * depth;
  const float* from = g.x;
  for (size_t first = 0; first < g.channels; first += kBlockLanes, from += g.block_step) {
    const size_t count = least(kBlockLanes, g.channels - first);
    for (size_t tap = 0; tap < g.taps; ++tap) {
      const float* x = from + g.tap[tap];
      for (size_t c = count; c != 0; --c, ++x, w += kBlockLanes) {
        const Each value(*x);
        each([&](int i, int v) __attribute__((always_inline)) {
          const float* at = w + size_t(i) * kBlockLanes * depth + v * kLanes;
          acc[i][v] = fma(value, F32::load(at), acc[i][v]);
        });
      }
    }
  }
  const ClampRegisters end(g.clamp);
  each([&](int i, int v) __attribute__((always_inline)) {
    const size_t at = (block + size_t(i)) * kBlockLanes + size_t(v * kLanes);
    F32 sum = acc[i][v];
    if (g.bias != nullptr) sum = sum + F32::load(g.bias + at);
    if (g.clamp.other != nullptr) sum = sum + F32::load(g.clamp.other + at);
    end(sum).store(g.y + at);
  });
}

// Tiles that fetch the weights to come, each a part of them.
struct Fetchers {
  size_t begin, end;
};

// What the tiles fetch of the weights to come, each its part: those of the next channels of the
// input, or of the next blocks. There are as many as of these channels.
struct Ahead {
  const char* from;
  size_t lines;        // of each block at each tap
  size_t part, bytes;  // of each block: of a tile, and of all

  Ahead(const BlockedWork& g, size_t blocks, const Fetchers& all, const Tile& t) {
    const size_t tiles = all.end - all.begin, channels = t.last - t.first;
    const size_t of_a_tap = least(kBlockLanes, channels);
    const float* next = t.w + channels * g.all_taps * kBlockLanes;
    if (t.last == g.channels) next += (blocks - 1) * t.w_block;
    from = reinterpret_cast<const char*>(next);
    const bool there = g.weights_stay && all.begin != g.tile_begin;
    lines = there ? 0 : (of_a_tap + tiles - 1) / tiles;
    const size_t of_a_line = kLine * channel_blocks(channels) * g.taps;
    part = lines * of_a_line;
    bytes = of_a_tap * of_a_line;
  }
  // Of the i-th of these tiles; the last ones may have nothing left to fetch.
  void set(size_t i, Tile& t) const {
    t.ahead = from + i * part;
    t.ahead_lines = i * part < bytes ? lines : 0;
  }
};

// The tiles [begin, end) by as many blocks as a tile has, from `first` of the input's channels on.
void run_tiles(const BlockedWork& g, size_t block, size_t first, size_t begin, size_t end,
               const Fetchers& all) {
  const size_t depth = g.channels * g.all_taps, blocks = least(kTileBlocks, g.block_end - block);
  Tile t;
  t.work = &g;
  t.first = first;
  t.last = least(g.channels, first + g.channels_together);
  t.w_block = depth * kBlockLanes;
  t.w = g.weights + block * t.w_block + first * g.all_taps * kBlockLanes;
  t.bias = g.bias == nullptr ? nullptr : g.bias + block * kBlockLanes;
  const size_t at = (block - g.y_block) * g.y_plane;
  t.y = g.y + at;
  t.other = g.clamp.other == nullptr || t.last < g.channels ? nullptr : g.clamp.other + at;
  Positions positions(g, begin);
  const Ahead ahead(g, blocks, all, t);
  for (size_t i = begin; i < end; ++i) {
    const Spot s = spot_of(g.cut, i);
    positions.set(s, t);
    ahead.set(i - all.begin, t);
    kTiles.fn[s.rows - 1][blocks - 1][s.columns - 1](t);
  }
}

// The tiles [begin, end) by as many blocks as a tile has, and what follows.
void run_blocks(const BlockedWork& g, size_t block, size_t begin, size_t end) {
  const Fetchers all{begin, end};
  size_t first = 0;
  for (; first + g.channels_together < g.channels; first += g.channels_together)
    run_tiles(g, block, first, begin, end, all);
  if (g.epilogue.fn == nullptr) return run_tiles(g, block, first, begin, end, all);
  const size_t block_end = least(block + kTileBlocks, g.block_end);
  for (size_t some = begin; some < end; some += kTogether) {
    const size_t stop = least(some + kTogether, end);
    run_tiles(g, block, first, some, stop, all);
    run_epilogue(g, block, block_end, some, stop);
  }
}

// Nearly equal parts of about `together` tiles: all weights are read again for each part, so that a
// quarter more is better than one part more.
size_t parts_of(size_t tiles, size_t together) {
  const size_t most = together + together / 4;
  return (tiles + most - 1) / most;
}

}  // namespace

BlockedTiles blocked_tiles() {
  BlockedTiles tiles{};
  tiles.positions = size_t(kPositions);
  tiles.positions_two_rows = size_t(kPositionsTwoRows);
  tiles.across_rows = kAcrossRows;
  tiles.blocks = kTileBlocks;
#if defined(SDX_ISA_avx2)
  // The first cache has 32 KB and the second 256 KB on the smallest machines.
  tiles.near_weights = 5120;
  tiles.near_inputs = 40960;
  tiles.weights_in_first = true;
#elif defined(SDX_ISA_avx512)
  // The second cache has 1 MB and more, and is quick enough for the weights of 14 positions. It
  // holds those that tiles read, those that they fetch, and inputs.
  tiles.near_weights = 32768;
  tiles.near_inputs = 131072;
#endif
  return tiles;
}

void conv_blocked_clamp(const ClampEpilogue& clamp, float* sums, size_t count) {
  const ClampRegisters end(clamp);
  for (size_t i = 0; i < count; i += kLanes) {
    F32 sum = F32::load(sums + i);
    if (clamp.other != nullptr) sum = sum + F32::load(clamp.other + i);
    end(sum).store(sums + i);
  }
}

void conv_blocked_tiles(const BlockedWork& g) {
  if (g.cut.runs * g.cut.run == 1 && g.taps == g.all_taps) {
    size_t block = g.block_begin;
    for (; block + kBlocksAtOnce <= g.block_end; block += kBlocksAtOnce)
      run_position<kBlocksAtOnce>(g, block);
    for (; block < g.block_end; ++block) run_position<1>(g, block);
    if (g.epilogue.fn != nullptr) run_epilogue(g, g.block_begin, g.block_end, 0, 1);
    return;
  }
  const size_t tiles = g.tile_end - g.tile_begin, parts = parts_of(tiles, g.tiles_together);
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = g.tile_begin + tiles * i / parts,
                 end = g.tile_begin + tiles * (i + 1) / parts;
    for (size_t block = g.block_begin; block < g.block_end; block += kTileBlocks)
      run_blocks(g, block, begin, end);
  }
}

}  // namespace sdx::SDX_ISA
