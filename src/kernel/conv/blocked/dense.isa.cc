#include "kernel/conv/blocked/work.h"
#include "kernel/epilogue/registers.h"
#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {
namespace {

// As many chains as the registers hold beside a row of weights and a broadcast input.
constexpr int kVecs = 2;
#if defined(SDX_ISA_avx512)
constexpr int kPositions = 14;
#elif defined(SDX_ISA_avx2)
constexpr int kPositions = 6;
#else
constexpr int kPositions = 2;
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
         (size_t(r) * g.width + size_t(p)) * kBlockLanes;
}

template <int Rows, int Positions, int Vecs, int Pixel>
void run_tile(const Tile& t) {
  const BlockedWork& g = *t.work;
  Vec acc[Rows][Positions][Vecs];
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Positions>([&](auto p) __attribute__((always_inline)) {
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) { f(r, p, v); });
      });
    });
  };
  each([&](auto r, auto p, auto v)
           __attribute__((always_inline)) { acc[r.value][p.value][v.value] = vec_zero(); });
  if (t.other != nullptr) {  // comes while the chains run
    each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
      __builtin_prefetch(t.other + place(g, r.value, p.value, v.value));
    });
  }
  const float* w = t.w;
  const size_t w_step = t.w_step, c_step = g.c_step, x_row = g.x_row;
  const float* block = t.x;
  for (size_t first = 0; first < g.channels; first += kBlockLanes, block += g.block_step) {
    const size_t count = least(kBlockLanes, g.channels - first);
    // The inputs of the next tile in the row, one position at each step of the first tap.
    const float* ahead = block + Positions * Pixel;
    for (size_t tap = 0; tap < g.taps; ++tap) {
      const float* x = block + g.tap[tap];
      const size_t ahead_step = tap == 0 ? Pixel : 0;
      for (size_t c = count; c != 0; --c, x += c_step, w += w_step, ahead += ahead_step) {
        __builtin_prefetch(ahead, 0, 2);
        Vec weight[Vecs];
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          weight[v.value] = vec_load(w + v.value * kLanes);
        });
        unroll<Rows>([&](auto r) __attribute__((always_inline)) {
          unroll<Positions>([&](auto p) __attribute__((always_inline)) {
            const Vec value = vec_set(x[size_t(r.value) * x_row + p.value * Pixel]);
            unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
              Vec& sum = acc[r.value][p.value][v.value];
              sum = vec_fma(value, weight[v.value], sum);
            });
          });
        });
      }
    }
  }
  if (t.bias != nullptr) {
    Vec bias[Vecs];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      bias[v.value] = vec_load(t.bias + v.value * kLanes);
    });
    each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
      Vec& sum = acc[r.value][p.value][v.value];
      sum = vec_add(sum, bias[v.value]);
    });
  }
  if (t.other != nullptr) {
    each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
      Vec& sum = acc[r.value][p.value][v.value];
      sum = vec_add(sum, vec_load(t.other + place(g, r.value, p.value, v.value)));
    });
  }
  const ClampRegisters end(g.clamp);
  each([&](auto r, auto p, auto v) __attribute__((always_inline)) {
    vec_store(t.y + place(g, r.value, p.value, v.value), end(acc[r.value][p.value][v.value]));
  });
}

using TileFn = void (*)(const Tile&);

// By rows - 1, vectors - 1 and positions - 1.
struct Tiles {
  TileFn fn[2][kVecs][kPositions];
};
template <int Pixel>
constexpr Tiles make_tiles() {
  Tiles tiles{};
  unroll<kVecs>([&](auto v) {
    unroll<kPositions>([&](auto p) {
      tiles.fn[0][v.value][p.value] = &run_tile<1, p.value + 1, v.value + 1, Pixel>;
    });
    unroll<kPositionsTwoRows>([&](auto p) {
      tiles.fn[1][v.value][p.value] = &run_tile<2, p.value + 1, v.value + 1, Pixel>;
    });
  });
  return tiles;
}
template <int Pixel>
constexpr Tiles kTilesOf = make_tiles<Pixel>();

const Tiles& tiles_for(size_t pixel) {
  switch (pixel) {
    case 1:
      return kTilesOf<1>;
    case 2:
      return kTilesOf<2>;
    case 16:
      return kTilesOf<16>;
    default:
      return kTilesOf<32>;
  }
}

// The chains of a plane of one position: several panels at once, or there would be too few to hide
// the latency of a multiply-add.
template <int Panels>
void run_position(const BlockedWork& g, size_t panel) {
  constexpr int kEach = int(kBlockedPanel) / kLanes;
  const size_t depth = g.channels * g.taps;
  Vec acc[Panels][kEach];
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    unroll<Panels>([&](auto i) __attribute__((always_inline)) {
      unroll<kEach>([&](auto v) __attribute__((always_inline)) { f(i, v); });
    });
  };
  each([&](auto i, auto v) __attribute__((always_inline)) { acc[i.value][v.value] = vec_zero(); });
  const float* w = g.weights + panel * kBlockedPanel * depth;
  const float* block = g.x;
  for (size_t first = 0; first < g.channels; first += kBlockLanes, block += g.block_step) {
    const size_t count = least(kBlockLanes, g.channels - first);
    for (size_t tap = 0; tap < g.taps; ++tap) {
      const float* x = block + g.tap[tap];
      for (size_t c = count; c != 0; --c, x += g.c_step, w += kBlockedPanel) {
        const Vec value = vec_set(*x);
        each([&](auto i, auto v) __attribute__((always_inline)) {
          const float* at = w + size_t(i.value) * kBlockedPanel * depth + v.value * kLanes;
          acc[i.value][v.value] = vec_fma(value, vec_load(at), acc[i.value][v.value]);
        });
      }
    }
  }
  const ClampRegisters end(g.clamp);
  each([&](auto i, auto v) __attribute__((always_inline)) {
    const size_t at = (panel + size_t(i.value)) * kBlockedPanel + size_t(v.value * kLanes);
    Vec sum = acc[i.value][v.value];
    if (g.bias != nullptr) sum = vec_add(sum, vec_load(g.bias + at));
    if (g.clamp.other != nullptr) sum = vec_add(sum, vec_load(g.clamp.other + at));
    vec_store(g.y + at, end(sum));
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
  const size_t first = panel * kBlockedPanel, depth = g.channels * g.taps;
  const size_t channels = least(kBlockedPanel, g.blocks * kBlockLanes - first);
  const Tiles& tiles = tiles_for(g.x_pixel);
  Tile t;
  t.work = &g;
  t.w_step = channels;
  for (size_t i = begin; i < end; ++i) {
    const Spot s = spot_of(g, i);
    for (size_t c = 0; c < channels; c += kColumns) {
      const size_t channel = first + c, vecs = least(kColumns, channels - c) / kLanes;
      const size_t at = (channel / kBlockLanes - g.y_block) * g.y_plane + channel % kBlockLanes +
                        (s.row * g.width + s.column) * kBlockLanes;
      t.x = g.x + s.row * g.x_row + s.column * g.x_pixel;
      t.w = g.weights + first * depth + c;
      t.bias = g.bias == nullptr ? nullptr : g.bias + channel;
      t.y = g.y + at;
      t.other = g.clamp.other == nullptr ? nullptr : g.clamp.other + at;
      tiles.fn[s.rows - 1][vecs - 1][s.columns - 1](t);
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

void conv_blocked_tiles(const BlockedWork& g) {
  const size_t whole = g.blocks * kBlockLanes / kBlockedPanel;  // panels
  const auto block_at = [&](size_t panel) {
    return least(g.blocks, panel * kBlockedPanel / kBlockLanes);
  };
  size_t panel = g.panel_begin;
  if (g.rows * g.width == 1) {
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
