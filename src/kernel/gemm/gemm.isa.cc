#include "kernel/gemm/gemm.h"

#include <cstring>

#include "kernel/gemm/block.h"
#include "kernel/gemm/pack.h"
#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {
namespace {

size_t least(size_t a, size_t b) { return a < b ? a : b; }

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

constexpr size_t kLine = 16;  // floats

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

// Where the rows of A are for tiles to read: as they lie, side by side, or in the order of k.
void place_rows(const GemmBlock& g, const Stretch& s, size_t row, size_t rows, TileArgs& t) {
  const size_t a_size = g.a_type == DType::f32 ? sizeof(float) : sizeof(uint16_t);
  const void* a = static_cast<const char*>(g.a) + (row * g.a_row + s.begin * g.a_k) * a_size;
  t.a = g.a_pack;
  if (g.a_type == DType::f32 && (g.a_row == 1 || rows == 1)) {
    t.a = static_cast<const float*>(a);
    t.a_step = g.a_k;
  } else if (reads_rows_in_place(g, rows)) {
    t.a = static_cast<const float*>(a);
    t.a_row = g.a_row;
  } else if (g.a_k == 1) {
    t.a_row = packed_row_floats(s.length);
    for (size_t r = 0; r < rows; ++r) {
      float* to = g.a_pack + r * t.a_row;
      const void* from = static_cast<const char*>(a) + r * g.a_row * a_size;
      if (g.a_type == DType::f32) {
        std::memcpy(to, from, s.length * sizeof(float));
      } else {
        widen_row(static_cast<const uint16_t*>(from), g.a_type, s.length, to);
      }
    }
  } else {
    pack_any(a, g.a_type, g.a_row, g.a_k, rows, s.length, g.a_pack, rows);
    t.a_step = rows;
  }
}

// Rows [row, row + rows) against a stretch. `ahead`: which half of the stretch after it to fetch
// meanwhile, 2 for none. `waiting`: where the chains of 16-bit outputs run, as floats.
void run_panels(const GemmBlock& g, const Stretch& s, const Stretch& next, size_t row, size_t rows,
                size_t ahead, float* waiting) {
  TileArgs t;
  t.k = s.length;
  place_rows(g, s, row, rows, t);
  t.resume = s.begin != 0 || g.resume;
  AffineEpilogue affine = g.affine.at(row, 0);
  const float *bias = affine.bias, *other = affine.other;
  for (size_t p = s.first; p < s.end; ++p) {
    const size_t col = p * kPanel;
    t.cols = least(g.cols - col, kPanel);
    const bool tail = t.cols < kPanel && g.b_tail != nullptr;
    t.b_step = tail ? panel_width(t.cols) : g.b_step;
    t.b = (tail ? g.b_tail : g.b + p * g.b_panel) + s.begin * t.b_step;
    const size_t later = next.first + (p - s.first);
    t.ahead = kNowhere;
    t.ahead_step = 0;
    if (ahead < 2 && later < next.end && (later + 1) * kPanel <= g.cols) {
      t.ahead = g.b + later * g.b_panel + (next.begin * 2 + ahead * next.length) * kLine;
      t.ahead_step = kLine;
    }
    if (g.c_type == DType::f32) {
      if (bias != nullptr) affine.bias = bias + col * affine.bias_col;
      if (other != nullptr) affine.other = other + col;
      t.c = static_cast<float*>(g.c) + row * g.ldc + col;
      t.ldc = g.ldc;
      t.affine = s.last && !g.raw ? &affine : nullptr;
    } else {
      t.c = waiting + (p - s.first) * kPanel;
      t.ldc = kWaitingCols;
      t.affine = nullptr;
    }
    tile_block(t, rows);
    if (!s.last) continue;
    if (g.c_type != DType::f32) {
      finish_16(g, t.c, t.ldc, row, col, rows, t.cols);
    } else if (g.epilogue.narrow_blocks) {
      g.epilogue.fn(g.epilogue.ctx, t.c, t.ldc, g.row + row, g.col + col, rows, t.cols);
    }
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
  unroll<kVecs>([&](auto v) __attribute__((always_inline)) { acc[v.value] = F32(0.0f); });
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
  unroll<kVecs>([&](auto v) __attribute__((always_inline)) {
    F32 out = acc[v.value];
    if (f.alpha != 1) out = out * F32(f.alpha);
    if (f.bias != nullptr) {
      F32 bias = f.bias_col == 0 ? F32(*f.bias) : F32::load(f.bias + v.value * kLanes);
      if (f.beta != 1) bias = bias * F32(f.beta);
      out = out + bias;
    }
    if (f.other != nullptr) out = out + F32::load(f.other + v.value * kLanes);
    lanes::canonical(out).store(c + v.value * kLanes);
  });
}

// Row blocks [first, end) against all panels, in the order that keeps most in the caches: panels
// that together take half a megabyte of the second one, and all of k before the next.
void run_blocks(const GemmBlock& g, size_t first, size_t end) {
  const size_t panels = (g.cols + kPanel - 1) / kPanel, blocks = row_blocks(g.rows);
  const size_t stretches = g.k > 0 ? (g.k + kDepth - 1) / kDepth : 1;
  const size_t longest = (g.k + stretches - 1) / stretches;
  const bool narrow = g.c_type != DType::f32;
  size_t group = longest == 0 ? panels : (8 * kDepth + longest - 1) / longest;
  if (narrow) group = least(group, kWaitingCols / kPanel);
  float* waiting = g.a_pack + packed_rows_floats(g.k);
  const size_t first_row = row_block_begin(g.rows, blocks, first);
  const auto stretch = [&](size_t i) {
    const size_t part = i % stretches, p = i / stretches * group;
    const size_t begin = g.k * part / stretches;
    return Stretch{begin, g.k * (part + 1) / stretches - begin, part + 1 == stretches, p,
                   least(panels, p + group)};
  };
  const size_t all = (panels + group - 1) / group * stretches;
  for (size_t i = 0; i < all; ++i) {
    const Stretch s = stretch(i), next = i + 1 < all ? stretch(i + 1) : Stretch{};
    for (size_t block = first; block < end; ++block) {
      const size_t row = row_block_begin(g.rows, blocks, block);
      const size_t rows = row_block_begin(g.rows, blocks, block + 1) - row;
      const size_t left = end - 1 - block;
      float* here = waiting + (row - first_row) * kWaitingCols;
      run_panels(g, s, next, row, rows, end - first == 1 || left > 1 ? 2 : 1 - left, here);
      if (!s.last) continue;
      const size_t col = s.first * kPanel, cols = least(g.cols, s.end * kPanel) - col;
      if (narrow) {
        end_16(g, here, row, col, rows, cols);
      } else if (g.epilogue.fn != nullptr && !g.epilogue.narrow_blocks) {
        g.epilogue.fn(g.epilogue.ctx, static_cast<float*>(g.c) + row * g.ldc + col, g.ldc,
                      g.row + row, g.col + col, rows, cols);
      }
    }
  }
}

}  // namespace

void gemm_block(const GemmBlock& given) {
  GemmBlock g = given;
  constexpr size_t kStripe = 8 * kLanes;
  if (g.rows == 1 && g.a_type == DType::f32 && g.c_type == DType::f32 && !g.resume) {
    const auto run = g.b_panel == kPanel ? &run_stripe<false> : &run_stripe<true>;
    const size_t striped = g.cols / kStripe * kStripe;
    for (size_t col = 0; col < striped; col += kStripe) run(g, col);
    if (striped != 0 && g.epilogue.fn != nullptr) {
      g.epilogue.fn(g.epilogue.ctx, static_cast<float*>(g.c), g.ldc, g.row, g.col, 1, striped);
    }
    g.b += striped / kPanel * g.b_panel;
    g.c = static_cast<float*>(g.c) + striped;
    g.affine = g.affine.at(0, striped);
    g.col += striped;
    g.cols -= striped;
  }
  // So many rows that their sums stay in the second cache while k goes by, beside a group of
  // panels.
  const size_t blocks = row_blocks(g.rows);
  const size_t parts = (blocks + kBlocksTogether - 1) / kBlocksTogether;
  for (size_t i = 0; i < parts; ++i) run_blocks(g, blocks * i / parts, blocks * (i + 1) / parts);
}

void gemm_pack_panel(const void* b, DType type, size_t b_k, size_t b_col, size_t k, size_t cols,
                     float* panel) {
  const size_t width = panel_width(cols);
  pack_any(b, type, b_col, b_k, cols, k, panel, width);
  for (size_t i = 0; cols < width && i < k; ++i) {
    std::memset(panel + i * width + cols, 0, (width - cols) * sizeof(float));
  }
}

void gemm_f64_rows(const GemmF64Args& g, size_t batch, size_t row_begin, size_t row_end) {
  constexpr size_t kLane = 16;
  const size_t a_row = g.trans_a ? 1 : g.lda, a_k = g.trans_a ? g.lda : 1;
  const size_t b_k = g.trans_b ? 1 : g.ldb, b_col = g.trans_b ? g.ldb : 1;
  for (size_t row = row_begin; row < row_end; ++row) {
    const double* a = g.a + batch * g.a_batch + row * a_row;
    double* c = g.c + batch * g.c_batch + row * g.ldc;
    for (size_t col = 0; col < g.n; col += kLane) {
      const size_t cols = least(g.n - col, kLane);
      const double* b = g.b + batch * g.b_batch + col * b_col;
      double acc[kLane] = {};
      if (b_col == 1 && cols == kLane) {
        for (size_t k = 0; k < g.k; ++k) {
          for (size_t j = 0; j < kLane; ++j)
            acc[j] = __builtin_fma(a[k * a_k], b[k * b_k + j], acc[j]);
        }
      } else {
        for (size_t k = 0; k < g.k; ++k) {
          for (size_t j = 0; j < cols; ++j)
            acc[j] = __builtin_fma(a[k * a_k], b[k * b_k + j * b_col], acc[j]);
        }
      }
      for (size_t j = 0; j < cols; ++j) {
        double x = acc[j];
        if (g.alpha != 1) x = x * g.alpha;
        if (g.bias != nullptr) {
          double bias = g.bias[batch * g.bias_batch + row * g.bias_row + (col + j) * g.bias_col];
          if (g.beta != 1) bias = bias * g.beta;
          x = x + bias;
        }
        c[col + j] = x != x ? __builtin_nan("") : x;
      }
    }
  }
}

}  // namespace sdx::SDX_ISA
