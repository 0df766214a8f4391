#include "kernel/gemm/gemm.h"

#include <cstring>

#include "kernel/gemm/block.h"
#include "kernel/gemm/pack.h"
#include "kernel/gemm/stream.h"
#include "kernel/gemm/tile.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

// A 16-bit output: chains end in a block of floats (rows of `ld`), whose columns of one panel are
// finished here.
void finish_16(const GemmBlock& g, float* block, size_t ld, size_t row, size_t col, size_t rows,
               size_t cols) {
  const AffineEpilogue& f = g.affine;
  alignas(64) float bias[kPanel];
  for (size_t r = 0; r < rows; ++r) {
    float* x = block + r * ld;
    if (f.alpha != 1) {
      for (size_t j = 0; j < cols; ++j) x[j] = x[j] * f.alpha;
    }
    if (g.bias_16 != nullptr) {
      const uint16_t* from =
          static_cast<const uint16_t*>(g.bias_16) + (row + r) * f.bias_row + col * f.bias_col;
      if (f.bias_col == 0) {
        for (float& value : bias) value = widen_one(*from, g.c_type);
      } else {
        widen_row(from, g.c_type, cols, bias);
      }
      if (f.beta != 1) {
        for (size_t j = 0; j < cols; ++j) bias[j] = bias[j] * f.beta;
      }
      for (size_t j = 0; j < cols; ++j) x[j] = x[j] + bias[j];
    }
  }
}

// The rounding of a finished block, its epilogue, and the rounding of what that makes.
void end_16(const GemmBlock& g, float* block, size_t row, size_t col, size_t rows, size_t cols) {
  uint16_t* c = static_cast<uint16_t*>(g.c) + row * g.ldc + col;
  for (size_t r = 0; r < rows; ++r) {
    narrow_row(block + r * kWaitingCols, g.c_type, cols, c + r * g.ldc);
  }
  if (g.epilogue.fn == nullptr) return;
  for (size_t r = 0; r < rows; ++r) {
    widen_row(c + r * g.ldc, g.c_type, cols, block + r * kWaitingCols);
  }
  g.epilogue.fn(g.epilogue.ctx, block, kWaitingCols, g.row + row, g.col + col, rows, cols);
  for (size_t r = 0; r < rows; ++r) {
    narrow_row(block + r * kWaitingCols, g.c_type, cols, c + r * g.ldc);
  }
}

// A part of k, and of the columns as panels [first, end).
struct Stretch {
  size_t begin, length;
  bool last;
  size_t first, end;
};

// Rows of A are read where they lie unless they would push each other out of the first cache: its
// sets repeat every 4 KiB.
bool reads_rows_in_place(const GemmBlock& g, size_t rows) {
  if (g.a_type != DType::f32 || g.a_k != 1) return false;
  const size_t step = g.a_row * sizeof(float) % 4096;
  size_t together = 1;  // rows that share a set
  for (size_t r = 1; r < rows; ++r) {
    const size_t at = r * step % 4096;
    together += at < 64 || at > 4096 - 64;
  }
  return together <= 6;
}

// Where the rows of A are for tiles to read: as they lie, or in `pack`, side by side or in the
// order of k.
void place_rows(const GemmBlock& g, const Stretch& s, size_t row, size_t rows, float* pack,
                TileArgs& t) {
  const size_t a_size = g.a_type == DType::f32 ? sizeof(float) : sizeof(uint16_t);
  const void* a = static_cast<const char*>(g.a) + (row * g.a_row + s.begin * g.a_k) * a_size;
  t.a = pack;
  t.a_row = t.a_step = 0;
  if (g.a_type == DType::f32 && (g.a_row == 1 || rows == 1)) {
    t.a = static_cast<const float*>(a);
    t.a_step = g.a_k;
  } else if (reads_rows_in_place(g, rows)) {
    t.a = static_cast<const float*>(a);
    t.a_row = g.a_row;
  } else if (g.a_k == 1) {
    t.a_row = packed_row_floats(s.length);
    for (size_t r = 0; r < rows; ++r) {
      float* to = pack + r * t.a_row;
      const void* from = static_cast<const char*>(a) + r * g.a_row * a_size;
      if (g.a_type == DType::f32) {
        std::memcpy(to, from, s.length * sizeof(float));
      } else {
        widen_row(static_cast<const uint16_t*>(from), g.a_type, s.length, to);
      }
    }
  } else {
    pack_any(a, g.a_type, g.a_row, g.a_k, rows, s.length, pack, rows);
    t.a_step = rows;
  }
}

// Rows [row, row + rows), placed in `t`, against panel p of a stretch. `waiting`: where the chains
// of 16-bit outputs run, as floats.
void run_panel(const GemmBlock& g, const Stretch& s, TileArgs& t, size_t p, size_t row, size_t rows,
               float* waiting) {
  t.k = s.length;
  t.resume = s.begin != 0 || g.resume;
  const size_t col = p * kPanel;
  t.cols = least(g.cols - col, kPanel);
  const bool tail = t.cols < kPanel && g.b_tail != nullptr;
  t.b_step = tail ? panel_width(t.cols) : g.b_step;
  t.b = (tail ? g.b_tail : g.b + p * g.b_panel) + s.begin * t.b_step;
  const AffineEpilogue affine = g.affine.at(row, col);
  if (g.c_type == DType::f32) {
    t.c = static_cast<float*>(g.c) + row * g.ldc + col;
    t.ldc = g.ldc;
    t.affine = s.last && !g.raw ? &affine : nullptr;
  } else {
    t.c = waiting + (p - s.first) * kPanel;
    t.ldc = kWaitingCols;
    t.affine = nullptr;
  }
  tile_block(t, rows);
  if (!s.last) return;
  if (g.c_type != DType::f32) {
    finish_16(g, t.c, t.ldc, row, col, rows, t.cols);
  } else if (g.epilogue.narrow_blocks) {
    g.epilogue.fn(g.epilogue.ctx, t.c, t.ldc, g.row + row, g.col + col, rows, t.cols);
  }
}

// One row against a stripe of eight vectors of B. Where it lies, each step along k is then a long
// contiguous read; its rows are usually pages apart, where no hardware prefetcher follows, hence
// the prefetch of a row to come. Packed panels are streams that prefetchers do follow.
template <bool Packed>
void run_stripe(const GemmBlock& g, size_t col) {
  constexpr int kVecs = 8;
  constexpr size_t kAhead = 8;
  const float* a = static_cast<const float*>(g.a);
  const float* b = g.b + col / kPanel * g.b_panel;
  F32 acc[kVecs];
  repeat<kVecs>([&](int v) __attribute__((always_inline)) { acc[v] = F32(0.0f); });
  for (size_t k = 0; k < g.k; ++k, a += g.a_k, b += g.b_step) {
    const F32 x = F32(*a);
    const size_t ahead = g.k - k > kAhead ? kAhead * g.b_step : 0;
    unroll<kVecs>([&](auto v) __attribute__((always_inline)) {
      constexpr size_t kAt = v.value * kLanes, kFrom = kAt / kPanel;
      const float* at = b + (Packed ? kFrom * g.b_panel + kAt % kPanel : kAt);
      if constexpr (!Packed) __builtin_prefetch(at + ahead);
      acc[v.value] = fma(x, F32::load(at), acc[v.value]);
    });
  }
  float* c = static_cast<float*>(g.c) + col;
  const AffineEpilogue f = g.affine.at(0, col);
  repeat<kVecs>([&](int v) __attribute__((always_inline)) {
    finished(acc[v], f, v * kLanes).store(c + v * kLanes);
  });
}

// The columns before this one are done.
void leave_out(GemmBlock& g, size_t cols) {
  g.b += cols / kPanel * g.b_panel;
  g.c = static_cast<float*>(g.c) + cols;
  g.affine = g.affine.at(0, cols);
  g.col += cols;
  g.cols -= cols;
}

// How a product is cut for the caches: so much of k before the chains are put aside, so many panels
// (times k) before the next part of k, so many row blocks. Where the second cache is small (512 KiB
// and less, as on machines without AVX-512) few rows with a long stretch of k do best: a panel
// meets one row block after the other. Elsewhere a row block meets one panel after the other. Each
// row block fetches its part of what comes next, so that memory has the time of all of them for it.
#if defined(SDX_ISA_avx2)
constexpr bool kPanelsOutside = true;
constexpr size_t kStretch = 768, kGroup = 8 * kStretch, kTogether = 5;
#else
constexpr bool kPanelsOutside = false;
constexpr size_t kStretch = 512, kGroup = 8 * kStretch, kTogether = kBlocksTogether;
#endif
static_assert(kStretch <= kLongest && kTogether <= kBlocksTogether);

// Row blocks [first, end) of a product.
struct Blocks {
  const GemmBlock& g;
  size_t first, end;
  size_t all = row_blocks(g.rows);
  float* pack = g.a_pack;
  float* waiting = g.a_pack + packed_rows_floats(g.rows, g.k);

  size_t row(size_t block) const { return row_block_begin(g.rows, all, block); }
  float* waits(size_t block) const { return waiting + (row(block) - row(first)) * kWaitingCols; }

  // What the tiles of a row block fetch of a panel to come, of which each block fetches a part.
  void fetch_panel(const Stretch& next, size_t p, size_t block, TileArgs& t) const {
    t.ahead = kNowhere;
    t.ahead_step = t.ahead_tile = 0;
    if ((p + 1) * kPanel > g.cols || next.length == 0 || g.b_panel == kPanel) return;
    constexpr size_t kTiles = (kRowBlock / kTileRows) * (kPanel / kTileCols);
    const size_t tiles = kTiles * (end - first);
    t.ahead_step = (kPanel + tiles - 1) / tiles;
    t.ahead_tile = t.ahead_step * next.length;
    t.ahead = g.b + p * g.b_panel + next.begin * kPanel + (block - first) * kTiles * t.ahead_tile;
  }

  // A stretch, panel by panel.
  void run_panels_outside(const Stretch& s, const Stretch& next) const {
    TileArgs placed[kTogether];
    for (size_t block = first; block < end; ++block) {
      float* to = pack + (block - first) * kRowBlock * packed_row_floats(s.length);
      place_rows(g, s, row(block), row(block + 1) - row(block), to, placed[block - first]);
    }
    for (size_t p = s.first; p < s.end; ++p) {
      const bool more = p + 1 < s.end;
      for (size_t block = first; block < end; ++block) {
        TileArgs& t = placed[block - first];
        fetch_panel(more ? s : next, more ? p + 1 : next.first, block, t);
        run_panel(g, s, t, p, row(block), row(block + 1) - row(block), waits(block));
      }
    }
  }

  // A stretch, row block by row block.
  void run_rows_outside(const Stretch& s, const Stretch& next) const {
    for (size_t block = first; block < end; ++block) {
      const size_t rows = row(block + 1) - row(block);
      TileArgs t;
      place_rows(g, s, row(block), rows, pack, t);
      for (size_t p = s.first; p < s.end; ++p) {
        const size_t later = next.first + (p - s.first);
        fetch_panel(later < next.end && end - first > 1 ? next : Stretch{}, later, block, t);
        run_panel(g, s, t, p, row(block), rows, waits(block));
      }
      if (s.last) finish(s, block);
    }
  }

  // What follows the chains of a row block.
  void finish(const Stretch& s, size_t block) const {
    const size_t rows = row(block + 1) - row(block);
    const size_t col = s.first * kPanel, cols = least(g.cols, s.end * kPanel) - col;
    if (g.c_type != DType::f32) {
      end_16(g, waits(block), row(block), col, rows, cols);
    } else if (g.epilogue.fn != nullptr && !g.epilogue.narrow_blocks) {
      g.epilogue.fn(g.epilogue.ctx, static_cast<float*>(g.c) + row(block) * g.ldc + col, g.ldc,
                    g.row + row(block), g.col + col, rows, cols);
    }
  }

  // All panels, in the order that keeps most in the caches: some panels together, and all of k
  // before the next.
  void run() const {
    const size_t panels = (g.cols + kPanel - 1) / kPanel;
    const size_t stretches = g.k > 0 ? (g.k + kStretch - 1) / kStretch : 1;
    const size_t longest = (g.k + stretches - 1) / stretches;
    size_t group = longest == 0 ? panels : (kGroup + longest - 1) / longest;
    if (g.c_type != DType::f32) group = least(group, kWaitingCols / kPanel);
    const auto stretch = [&](size_t i) {
      const size_t part = i % stretches, p = i / stretches * group;
      const size_t begin = g.k * part / stretches;
      return Stretch{begin, g.k * (part + 1) / stretches - begin, part + 1 == stretches, p,
                     least(panels, p + group)};
    };
    const size_t count = (panels + group - 1) / group * stretches;
    for (size_t i = 0; i < count; ++i) {
      const Stretch s = stretch(i), next = i + 1 < count ? stretch(i + 1) : Stretch{};
      if constexpr (kPanelsOutside) {
        run_panels_outside(s, next);
        for (size_t block = first; s.last && block < end; ++block) finish(s, block);
      } else {
        run_rows_outside(s, next);
      }
    }
  }
};

}  // namespace

void gemm_block(const GemmBlock& given) {
  GemmBlock g = given;
  constexpr size_t kStripe = 8 * kLanes;
  const bool floats = g.a_type == DType::f32 && g.c_type == DType::f32 && !g.resume;
  if (floats && g.b_panel == kPanel && is_streamed(g.rows, g.k, g.b_step)) {
    leave_out(g, stream_rows(g));
    if (g.cols == 0) return;
  } else if (floats && g.rows == 1) {
    const auto run = g.b_panel == kPanel ? &run_stripe<false> : &run_stripe<true>;
    const size_t striped = g.cols / kStripe * kStripe;
    for (size_t col = 0; col < striped; col += kStripe) run(g, col);
    if (striped != 0 && g.epilogue.fn != nullptr) {
      g.epilogue.fn(g.epilogue.ctx, static_cast<float*>(g.c), g.ldc, g.row, g.col, 1, striped);
    }
    leave_out(g, striped);
  }
  // So many rows that their sums stay in the second cache while k goes by, beside a group of
  // panels.
  const size_t blocks = row_blocks(g.rows);
  const size_t parts = (blocks + kTogether - 1) / kTogether;
  for (size_t i = 0; i < parts; ++i) Blocks{g, blocks * i / parts, blocks * (i + 1) / parts}.run();
}

void gemm_block_transposed(const GemmBlock& g, const TransposedB& b) {
  Turned turned{g, b, {}, {}};
  for (size_t first = 0; first < g.cols; first += kStreamedCols) {
    const size_t end = least(g.cols, first + kStreamedCols);
    for (size_t col = first; col < end; col += Turned::kColumns) {
      const size_t cols = least(end - col, Turned::kColumns);
      turned.run(col, cols);
      turned.finish(col, cols);
    }
    if (g.epilogue.fn == nullptr) continue;
    float* c = static_cast<float*>(g.c) + first;
    g.epilogue.fn(g.epilogue.ctx, c, g.ldc, g.row, g.col + first, g.rows, end - first);
  }
}

void gemm_pack_panel(const void* b, DType type, size_t b_k, size_t b_col, size_t k, size_t cols,
                     float* panel) {
  const size_t width = panel_width(cols);
  pack_any(b, type, b_col, b_k, cols, k, panel, width);
  for (size_t i = 0; cols < width && i < k; ++i) {
    std::memset(panel + i * width + cols, 0, (width - cols) * sizeof(float));
  }
}

}  // namespace sdx::SDX_ISA
