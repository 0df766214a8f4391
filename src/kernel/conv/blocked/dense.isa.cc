#include "kernel/conv/blocked/work.h"
#include "kernel/epilogue/registers.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

// As many chains as the registers hold beside a row of weights and a broadcast input.
#if defined(SDX_ISA_avx512)
constexpr int kVecs = 2, kPositions = 14;
#elif defined(SDX_ISA_avx2)
constexpr int kVecs = 2, kPositions = 6;
#elif defined(SDX_ISA_neon)
constexpr int kVecs = 4, kPositions = 6;
#else
constexpr int kVecs = 2, kPositions = 2;
#endif
constexpr int kPositionsTwoRows = kPositions / 2;
constexpr size_t kColumns = size_t(kVecs * kLanes);

size_t least(size_t a, size_t b) { return a < b ? a : b; }

// One tile by some channels of a panel.
struct Tile {
  const BlockedWork* work;
  const float* x;  // of the first position
  const float* w;  // of the first channel
  size_t w_step;   // channels of the panel
  const float* bias;
  float* y;            // of the first position and channel
  const float* other;  // as y, or null
};

// y's vector v of position p in row r of a tile.
[[gnu::always_inline]] inline size_t place(const BlockedWork& g, int r, int p, int v) {
  const size_t channel = size_t(v * kLanes);
  return channel / kBlockLanes * g.y_plane + channel % kBlockLanes +
         (size_t(r) * g.y_row + size_t(p)) * kBlockLanes;
}

// Where the inputs of a tile's positions are: one pointer for three of a row, which addressing
// modes reach from it.
template <int Rows, int Positions>
struct Inputs {
  static constexpr int kPointers = (Positions + 2) / 3;
  const float* x[Rows][kPointers];
  size_t pixel;

  Inputs(const BlockedWork& g, const float* first) : pixel(g.x_pixel) {
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < kPointers; ++i) {
        x[r][i] = first + size_t(r) * g.x_row + size_t(i) * 3 * pixel;
      }
    }
  }
  template <int R, int P>
  [[gnu::always_inline]] float at() const {
    return x[R][P / 3][P % 3 * pixel];
  }
  [[gnu::always_inline]] void next(size_t step) {
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < kPointers; ++i) x[r][i] += step;
    }
  }
};

template <int Rows, int Positions, int Vecs>
void run_tile(const Tile& t) {
  const BlockedWork& g = *t.work;
  F32 acc[Rows][Positions][Vecs];
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Positions>([&](auto p) __attribute__((always_inline)) {
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) { f(r, p, v); });
      });
    });
  };
  each([&](auto r, auto p, auto v)
           __attribute__((always_inline)) { acc[r.value][p.value][v.value] = F32(0.0f); });
  if (t.other != nullptr) {  // comes while the chains run
    each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
      __builtin_prefetch(t.other + place(g, r.value, p.value, v.value));
    });
  }
  const float* w_block = t.w;
  const size_t w_step = t.w_step, c_step = g.c_step, pixel = g.x_pixel;
  const float* block = t.x;
  for (size_t first = 0; first < g.channels; first += kBlockLanes, block += g.block_step) {
    const size_t count = least(kBlockLanes, g.channels - first), w_tap = count * w_step;
    // The inputs of the next tile in the row, one position at each step of the first tap.
    const float* ahead = block + Positions * pixel;
    for (size_t tap = 0; tap < g.taps; ++tap) {
      Inputs<Rows, Positions> x(g, block + g.tap[tap]);
      const float* w = w_block + g.tap_at[tap] * w_tap;
      const size_t ahead_step = tap == 0 ? pixel : 0;
      for (size_t c = count; c != 0; --c, x.next(c_step), w += w_step, ahead += ahead_step) {
        __builtin_prefetch(ahead, 0, 2);
        F32 weight[Vecs];
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          weight[v.value] = F32::load(w + v.value * kLanes);
        });
        unroll<Rows>([&](auto r) __attribute__((always_inline)) {
          unroll<Positions>([&](auto p) __attribute__((always_inline)) {
            const Each value(x.template at<r.value, p.value>());
            unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
              F32& sum = acc[r.value][p.value][v.value];
              sum = fma(value, weight[v.value], sum);
            });
          });
        });
      }
    }
    w_block += g.all_taps * w_tap;
  }
  if (t.bias != nullptr) {
    F32 bias[Vecs];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      bias[v.value] = F32::load(t.bias + v.value * kLanes);
    });
    each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
      F32& sum = acc[r.value][p.value][v.value];
      sum = sum + bias[v.value];
    });
  }
  if (t.other != nullptr) {
    each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
      F32& sum = acc[r.value][p.value][v.value];
      sum = sum + F32::load(t.other + place(g, r.value, p.value, v.value));
    });
  }
  const ClampRegisters end(g.clamp);
  each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
    end(acc[r.value][p.value][v.value]).store(t.y + place(g, r.value, p.value, v.value));
  });
}

using TileFn = void (*)(const Tile&);

// By rows - 1, vectors - 1 and positions - 1.
struct Tiles {
  TileFn fn[2][kVecs][kPositions];
};
constexpr Tiles make_tiles() {
  Tiles tiles{};
  unroll<kVecs>([&](auto v) {
    unroll<kPositions>(
        [&](auto p) { tiles.fn[0][v.value][p.value] = &run_tile<1, p.value + 1, v.value + 1>; });
    unroll<kPositionsTwoRows>(
        [&](auto p) { tiles.fn[1][v.value][p.value] = &run_tile<2, p.value + 1, v.value + 1>; });
  });
  return tiles;
}
constexpr Tiles kTiles = make_tiles();

// The chains of a plane of one position: several panels at once, or there would be too few to hide
// the latency of a multiply-add.
template <int Panels>
void run_position(const BlockedWork& g, size_t panel) {
  constexpr int kEach = int(kBlockedPanel) / kLanes;
  const size_t depth = g.channels * g.taps;
  F32 acc[Panels][kEach];
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    unroll<Panels>([&](auto i) __attribute__((always_inline)) {
      unroll<kEach>([&](auto v) __attribute__((always_inline)) { f(i, v); });
    });
  };
  each([&](auto i, auto v) __attribute__((always_inline)) { acc[i.value][v.value] = F32(0.0f); });
  const float* w = g.weights + panel * kBlockedPanel * depth;
  const float* block = g.x;
  for (size_t first = 0; first < g.channels; first += kBlockLanes, block += g.block_step) {
    const size_t count = least(kBlockLanes, g.channels - first);
    for (size_t tap = 0; tap < g.taps; ++tap) {
      const float* x = block + g.tap[tap];
      for (size_t c = count; c != 0; --c, x += g.c_step, w += kBlockedPanel) {
        const Each value(*x);
        each([&](auto i, auto v) __attribute__((always_inline)) {
          const float* at = w + size_t(i.value) * kBlockedPanel * depth + v.value * kLanes;
          acc[i.value][v.value] = fma(value, F32::load(at), acc[i.value][v.value]);
        });
      }
    }
  }
  const ClampRegisters end(g.clamp);
  each([&](auto i, auto v) __attribute__((always_inline)) {
    const size_t at = (panel + size_t(i.value)) * kBlockedPanel + size_t(v.value * kLanes);
    F32 sum = acc[i.value][v.value];
    if (g.bias != nullptr) sum = sum + F32::load(g.bias + at);
    if (g.clamp.other != nullptr) sum = sum + F32::load(g.clamp.other + at);
    end(sum).store(g.y + at);
  });
}

// Where tile i lies.
struct Spot {
  size_t row, rows, column, columns;
};
Spot spot_of(const BlockedWork& g, size_t i) {
  const size_t row = i / g.across * g.tile_rows, part = i % g.across;
  const size_t begin = g.width * part / g.across, end = g.width * (part + 1) / g.across;
  return {row, least(g.tile_rows, g.rows - row), begin, end - begin};
}

// The tiles [begin, end) by one panel.
void run_panel(const BlockedWork& g, size_t panel, size_t begin, size_t end) {
  const size_t first = panel * kBlockedPanel, depth = g.channels * g.all_taps;
  const size_t channels = least(kBlockedPanel, g.blocks * kBlockLanes - first);
  Tile t;
  t.work = &g;
  t.w_step = channels;
  for (size_t i = begin; i < end; ++i) {
    const Spot s = spot_of(g, i);
    for (size_t c = 0; c < channels; c += kColumns) {
      const size_t channel = first + c, vecs = least(kColumns, channels - c) / kLanes;
      const size_t at = (channel / kBlockLanes - g.y_block) * g.y_plane + channel % kBlockLanes +
                        (s.row * g.y_row + s.column) * kBlockLanes;
      t.x = g.x + s.row * g.x_row + s.column * g.x_pixel;
      t.w = g.weights + first * depth + c;
      t.bias = g.bias == nullptr ? nullptr : g.bias + channel;
      t.y = g.y + at;
      t.other = g.clamp.other == nullptr ? nullptr : g.clamp.other + at;
      kTiles.fn[s.rows - 1][vecs - 1][s.columns - 1](t);
    }
  }
}

void run_epilogue(const BlockedWork& g, size_t block_begin, size_t block_end, size_t begin,
                  size_t end) {
  const Spot from = spot_of(g, begin), to = spot_of(g, end - 1);
  const size_t at = (from.row * g.width + from.column) * kBlockLanes;
  const size_t stop = ((to.row + to.rows - 1) * g.width + to.column + to.columns) * kBlockLanes;
  g.epilogue.fn(g.epilogue.ctx, g.y + (block_begin - g.y_block) * g.y_plane + at, g.y_plane,
                g.row + block_begin, at, block_end - block_begin, stop - at);
}

// Tiles that run together before a program passes over them, and while several panels meet them.
constexpr size_t kTogether = 8;

}  // namespace

BlockedTiles blocked_tiles() { return {size_t(kPositions), size_t(kPositionsTwoRows)}; }

void conv_blocked_clamp(const ClampEpilogue& clamp, float* sums, size_t count) {
  const ClampRegisters end(clamp);
  for (size_t i = 0; i < count; i += kLanes) {
    F32 sum = F32::load(sums + i);
    if (clamp.other != nullptr) sum = sum + F32::load(clamp.other + i);
    end(sum).store(sums + i);
  }
}

void conv_blocked_tiles(const BlockedWork& g) {
  const size_t whole = g.blocks * kBlockLanes / kBlockedPanel;  // panels
  const auto block_at = [&](size_t panel) {
    return least(g.blocks, panel * kBlockedPanel / kBlockLanes);
  };
  size_t panel = g.panel_begin;
  if (g.rows * g.width == 1 && g.taps == g.all_taps) {
    constexpr size_t kMost = kLanes == 16 ? 4 : 1;
    for (; panel + kMost <= least(whole, g.panel_end); panel += kMost)
      run_position<int(kMost)>(g, panel);
    for (; panel < least(whole, g.panel_end); ++panel) run_position<1>(g, panel);
    if (panel < g.panel_end) run_panel(g, panel, 0, 1);
    if (g.epilogue.fn != nullptr)
      run_epilogue(g, block_at(g.panel_begin), block_at(g.panel_end), 0, 1);
    return;
  }
  for (size_t begin = g.tile_begin; begin < g.tile_end; begin += kTogether) {
    const size_t end = least(begin + kTogether, g.tile_end);
    for (panel = g.panel_begin; panel < g.panel_end; ++panel) {
      run_panel(g, panel, begin, end);
      if (g.epilogue.fn != nullptr)
        run_epilogue(g, block_at(panel), block_at(panel + 1), begin, end);
    }
  }
}

}  // namespace sdx::SDX_ISA
