// The tiles of blocked convolutions: where their positions lie, and how their inputs are reached.
#pragma once

#include <type_traits>

#include "kernel/conv/blocked/work.h"
#include "kernel/epilogue/registers.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA::blocked {

// As many chains as the registers hold beside a row of weights and a broadcast input.
#if defined(SDX_ISA_avx512)
inline constexpr int kVecs = 2, kPositions = 14;
inline constexpr bool kAcrossRows = false;
#elif defined(SDX_ISA_avx2)
inline constexpr int kVecs = 2, kPositions = 6;
inline constexpr bool kAcrossRows = true;  // there are registers for a pointer to each position
#elif defined(SDX_ISA_neon)
inline constexpr int kVecs = 4, kPositions = 6;
inline constexpr bool kAcrossRows = false;
#else
inline constexpr int kVecs = 4, kPositions = 2;
inline constexpr bool kAcrossRows = false;
#endif

// What a tile fetches while its chains run: a part of the weights to come, at each tap, or the
// inputs of the next tile in the row, at each step of the first tap. At each step, fetches take as
// many turns of the caches as loads do.
#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
inline constexpr bool kFetchWeights = true;
#else
inline constexpr bool kFetchWeights = false;
#endif
inline constexpr size_t kLine = 64;  // bytes of a cache line

inline constexpr int kPositionsTwoRows = kPositions / 2;
inline constexpr int kBlockVecs = int(kBlockLanes) / kLanes;
inline constexpr size_t kTileBlocks = kVecs / kBlockVecs;  // of output channels

// One tile by one or two blocks of output channels, for some of the input's channels.
struct Tile {
  const BlockedWork* work;
  // The positions' inputs and their places in y: of each, or of the first where they lie in rows.
  const float* x[kAcrossRows ? kPositions : 1];
  size_t at[kAcrossRows ? kPositions : 1];
  size_t first, last;  // channels of the input
  const float* w;      // of the first of them
  const char* ahead;   // what it fetches of the weights behind these
  size_t ahead_lines;  // of each block at each tap
  size_t w_block;      // floats to the next block's weights
  const float* bias;   // of the first channel, or null
  float* y;            // of the first channel
  const float* other;  // as y, or null
};

// y's vector v of position p in row r of a tile.
[[gnu::always_inline]] inline size_t place(const Tile& t, int r, int p, int v) {
  const size_t first = size_t(v * kLanes);
  const BlockedWork& g = *t.work;
  const size_t channel = first / kBlockLanes * g.y_plane + first % kBlockLanes;
  if constexpr (kAcrossRows) return t.at[p] + channel;
  return t.at[0] + (size_t(r) * g.y_row + size_t(p)) * kBlockLanes + channel;
}

// Where the inputs of a tile's positions are, at the channel and tap that it has come to: a pointer
// for each, and one index for all.
template <int Rows, int Positions>
struct InputsAnywhere {
  const float* x[Positions];
  size_t i = 0;

  explicit InputsAnywhere(const Tile& t) {
    repeat<Positions>([&](int p) __attribute__((always_inline)) { x[p] = t.x[p]; });
  }
  [[gnu::always_inline]] void go_to(size_t place) { i = place; }
  [[gnu::always_inline]] const float* at(int, int p) const { return x[p] + i; }
  [[gnu::always_inline]] void next() { ++i; }
};

// Or one pointer for three of a row, which addressing modes reach from it.
template <int Rows, int Positions>
struct InputsInRows {
  static constexpr int kPointers = (Positions + 2) / 3;
  const float* x[Rows][kPointers];
  const float* first;
  size_t row, pixel;

  explicit InputsInRows(const Tile& t)
      : first(t.x[0]), row(t.work->x_row), pixel(t.work->x_pixel) {}
  [[gnu::always_inline]] void go_to(size_t place) {
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < kPointers; ++i)
        x[r][i] = first + place + size_t(r) * row + size_t(i) * 3 * pixel;
    }
  }
  [[gnu::always_inline]] const float* at(int r, int p) const { return x[r][p / 3] + p % 3 * pixel; }
  [[gnu::always_inline]] void next() {
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < kPointers; ++i) ++x[r][i];
    }
  }
};
template <int Rows, int Positions>
using Inputs =
    std::conditional_t<kAcrossRows, InputsAnywhere<Rows, Positions>, InputsInRows<Rows, Positions>>;

// Where tile i lies.
struct Spot {
  size_t row, rows, column, columns;
};
inline Spot spot_of(const BlockedCut& cut, size_t i) {
  const size_t row = i / cut.across * cut.tile_rows, part = i % cut.across;
  const size_t begin = cut.run * part / cut.across, end = cut.run * (part + 1) / cut.across;
  return {row, least(cut.tile_rows, cut.runs - row), begin, end - begin};
}

// Sets a tile's inputs and its places in y, tile after tile.
struct Positions {
  const BlockedWork& g;
  size_t row, column;  // where the next tile begins, if its positions may lie in several rows
  Positions(const BlockedWork& work, size_t tile) : g(work) {
    const size_t first = spot_of(g.cut, tile).column;
    row = first / g.width, column = first % g.width;
  }
  void set(const Spot& s, Tile& t) {
    if constexpr (!kAcrossRows) {
      t.x[0] = g.x + s.row * g.x_row + s.column * g.x_pixel;
      t.at[0] = (s.row * g.y_row + s.column) * kBlockLanes;
      return;
    }
    for (size_t p = 0; p < s.columns; ++p) {
      t.x[p] = g.x + row * g.x_row + column * g.x_pixel;
      t.at[p] = (row * g.y_row + column) * kBlockLanes;
      if (++column == g.width) column = 0, ++row;
    }
  }
};

// What follows the sums of some blocks at some tiles, as a program.
inline void run_epilogue(const BlockedWork& g, size_t block_begin, size_t block_end, size_t begin,
                         size_t end) {
  const Spot from = spot_of(g.cut, begin), to = spot_of(g.cut, end - 1);
  const size_t run = g.cut.run, at = (from.row * run + from.column) * kBlockLanes;
  const size_t stop = ((to.row + to.rows - 1) * run + to.column + to.columns) * kBlockLanes;
  g.epilogue.fn(g.epilogue.ctx, g.y + (block_begin - g.y_block) * g.y_plane + at, g.y_plane,
                g.row + block_begin, at, block_end - block_begin, stop - at);
}

// Tiles that run together before a program passes over them.
inline constexpr size_t kTogether = 8;

// The sums of a tile, in registers.
template <int Rows, int Positions, int Vecs>
struct TileSums {
  F32 acc[Rows][Positions][Vecs];

  template <class F>
  [[gnu::always_inline]] void each(F&& f) {
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Positions>([&](int p) __attribute__((always_inline)) {
        repeat<Vecs>([&](int v) __attribute__((always_inline)) { f(acc[r][p][v], r, p, v); });
      });
    });
  }
  // From +0, or from where the chains stopped.
  [[gnu::always_inline]] void begin(const Tile& t) {
    if (t.first == 0) {
      each([](F32 & sum, int, int, int) __attribute__((always_inline)) { sum = F32(0.0f); });
    } else {
      each([&](F32 & sum, int r, int p, int v)
               __attribute__((always_inline)) { sum = F32::load(t.y + place(t, r, p, v)); });
    }
    if (t.other == nullptr) return;
    each([&](F32&, int r, int p, int v) __attribute__((always_inline)) {  // while the chains run
      __builtin_prefetch(t.other + place(t, r, p, v));
    });
  }
  // Puts them aside, or does what follows the chains.
  [[gnu::always_inline]] void end(const Tile& t) {
    const BlockedWork& g = *t.work;
    if (t.last < g.channels) {
      each([&](F32 & sum, int r, int p, int v)
               __attribute__((always_inline)) { sum.store(t.y + place(t, r, p, v)); });
      return;
    }
    if (t.bias != nullptr) {
      F32 bias[Vecs];
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        bias[v] = F32::load(t.bias + v * kLanes);
      });
      each([&](F32 & sum, int, int, int v) __attribute__((always_inline)) { sum = sum + bias[v]; });
    }
    if (t.other != nullptr) {
      each([&](F32 & sum, int r, int p, int v) __attribute__((always_inline)) {
        sum = sum + F32::load(t.other + place(t, r, p, v));
      });
    }
    const ClampRegisters clamp(g.clamp);
    each([&](F32 & sum, int r, int p, int v)
             __attribute__((always_inline)) { clamp(sum).store(t.y + place(t, r, p, v)); });
  }
};

using TileFn = void (*)(const Tile&);

}  // namespace sdx::SDX_ISA::blocked
