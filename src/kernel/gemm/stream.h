// Few rows against a B that lies as it came: its rows go by one after the other, a few at a time,
// each read from end to end, while the sums wait in C. Memory gives such rows as fast as packed
// panels, in small pages too: a page is used up once it is at hand. Prefetchers stop at the end of
// each small page, so what comes next is fetched ahead, in the order in which it lies.
#pragma once

#include "kernel/gemm/block.h"
#include "kernel/gemm/pack.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// What follows a chain; `f` is seen from its row, `col` columns before it. The last columns may be
// fewer than a vector has lanes.
inline F32 finished(F32 out, const AffineEpilogue& f, size_t col, size_t cols = kLanes) {
  const auto load = [cols](const float* p) __attribute__((always_inline)) {
    return cols >= size_t(kLanes) ? F32::load(p) : load_first(p, cols);
  };
  if (f.alpha != 1) out = out * F32(f.alpha);
  if (f.bias != nullptr) {
    F32 bias = f.bias_col == 0 ? F32(*f.bias) : load(f.bias + col);
    if (f.beta != 1) bias = bias * F32(f.beta);
    out = out + bias;
  }
  if (f.other != nullptr) out = out + load(f.other + col);
  return lanes::canonical(out);
}

// The rows of B behind [k, k + Steps), as many again: fetched one after the other, so much at a
// time that all are there when their turn comes.
template <int Steps>
class NextRows {
 public:
  NextRows(const GemmBlock& g, size_t k, size_t col, size_t cols)
      : at_(g.b + (k + Steps) * g.b_step + col),
        end_(at_ + cols),
        cols_(cols),
        step_(g.b_step),
        there_(k + 2 * Steps <= g.k) {}
  // While a panel's columns of the rows before them are read.
  [[gnu::always_inline]] void fetch() {
    if (!there_) return;
    constexpr int kLine = 16;  // floats
    repeat<Steps* int(kPanel) / kLine>([&](int i) __attribute__((always_inline)) {
      __builtin_prefetch(at_ + i * kLine, 0, 2);
    });
    at_ += Steps * kPanel;
    if (at_ < end_) return;
    at_ += step_ - cols_;
    end_ += step_;
  }

 private:
  const float *at_, *end_;
  const size_t cols_, step_;
  const bool there_;
};

// Rows [k, k + Steps) of B against one row: the chains of `cols` columns go on from C.
template <int Steps>
inline void stream_to_one(const GemmBlock& g, size_t k, size_t col, size_t cols) {
  constexpr int kVecs = kPanel / kLanes;
  const float* a = static_cast<const float*>(g.a) + k * g.a_k;
  const float* b = g.b + k * g.b_step + col;
  float* c = static_cast<float*>(g.c) + col;
  F32 x[Steps];
  repeat<Steps>([&](int i) __attribute__((always_inline)) { x[i] = F32(a[size_t(i) * g.a_k]); });
  NextRows<Steps> next(g, k, col, cols);
  for (size_t j = 0; j < cols; j += kPanel) {
    next.fetch();
    F32 acc[kVecs];
    repeat<kVecs>([&](int v)
                      __attribute__((always_inline)) { acc[v] = F32::load(c + j + v * kLanes); });
    repeat<Steps>([&](int i) __attribute__((always_inline)) {
      const float* row = b + size_t(i) * g.b_step + j;
      repeat<kVecs>([&](int v) __attribute__((always_inline)) {
        acc[v] = fma(x[i], F32::load(row + v * kLanes), acc[v]);
      });
    });
    repeat<kVecs>([&](int v) __attribute__((always_inline)) { acc[v].store(c + j + v * kLanes); });
  }
}

// The same against several.
template <int Steps>
inline void stream_to_some(const GemmBlock& g, size_t k, size_t col, size_t cols) {
  const float* a = static_cast<const float*>(g.a) + k * g.a_k;
  const float* b = g.b + k * g.b_step + col;
  float* c = static_cast<float*>(g.c) + col;
  for (size_t j = 0; j < cols; j += kLanes) {
    F32 rows[Steps];
    repeat<Steps>([&](int i) __attribute__((always_inline)) {
      rows[i] = F32::load(b + size_t(i) * g.b_step + j);
    });
    for (size_t r = 0; r < g.rows; ++r) {
      F32 acc = F32::load(c + r * g.ldc + j);
      repeat<Steps>([&](int i) __attribute__((always_inline)) {
        acc = fma(F32(a[r * g.a_row + size_t(i) * g.a_k]), rows[i], acc);
      });
      acc.store(c + r * g.ldc + j);
    }
  }
}

inline constexpr size_t kStreamedCols = 4096;  // whose sums stay in the nearest caches

// All columns of whole panels, and what follows them; returns how many these are.
inline size_t stream_rows(const GemmBlock& g) {
  constexpr int kSteps = 8;
  const size_t all = g.cols / kPanel * kPanel;
  for (size_t col = 0; col < all; col += kStreamedCols) {
    const size_t cols = least(all - col, kStreamedCols);
    float* c = static_cast<float*>(g.c) + col;
    for (size_t r = 0; r < g.rows; ++r) {
      for (size_t j = 0; j < cols; j += kLanes) F32(0.0f).store(c + r * g.ldc + j);
    }
    const auto some = g.rows == 1 ? &stream_to_one<kSteps> : &stream_to_some<kSteps>;
    const auto one = g.rows == 1 ? &stream_to_one<1> : &stream_to_some<1>;
    size_t k = 0;
    for (; k + kSteps <= g.k; k += kSteps) some(g, k, col, cols);
    for (; k < g.k; ++k) one(g, k, col, cols);
    for (size_t r = 0; r < g.rows; ++r) {
      const AffineEpilogue f = g.affine.at(r, col);
      for (size_t j = 0; j < cols; j += kLanes) {
        float* to = c + r * g.ldc + j;
        finished(F32::load(to), f, j).store(to);
      }
    }
    if (g.epilogue.fn != nullptr)
      g.epilogue.fn(g.epilogue.ctx, c, g.ldc, g.row, g.col + col, g.rows, cols);
  }
  return all;
}

// Few rows against a transposed B, of whose rows each gives one column of C: sixteen of them are
// turned a piece at a time, in the first cache, while the next sixteen come from memory.
struct Turned {
  static constexpr size_t kColumns = 16, kPart = 64, kLine = 64;
  static constexpr size_t kMostAhead = 256 << 10;  // bytes: a part of the smallest second cache
  const GemmBlock& g;
  const TransposedB& b;
  alignas(64) float part[kPart * kColumns];
  alignas(64) float sums[kStreamedRows * kColumns];

  // Columns [col, col + cols) up to the end of their chains.
  void run(size_t col, size_t cols) {
    const size_t bytes = b.row_bytes() * kColumns;
    const char* rows = b.row(col);
    const bool more = col + cols < g.cols && bytes <= kMostAhead;
    const char* next = rows + bytes;
    for (float& sum : sums) sum = 0;
    for (size_t k = 0; k < g.k; k += kPart) {
      const size_t length = least(g.k - k, kPart);
      const char* const end = rows + bytes + (k + length) * bytes / g.k;
      for (; more && next < end; next += kLine) __builtin_prefetch(next, 0, 2);
      pack_any(rows + k * b.element_bytes(), b.type, b.ld, 1, cols, length, part, kColumns);
      for (size_t r = 0; r < g.rows; ++r) chain(r, k, length);
    }
  }
  void chain(size_t row, size_t k, size_t length) {
    constexpr int kVecs = kColumns / kLanes;
    const float* a = static_cast<const float*>(g.a) + row * g.a_row + k * g.a_k;
    float* const sum = sums + row * kColumns;
    F32 acc[kVecs];
    repeat<kVecs>([&](int v)
                      __attribute__((always_inline)) { acc[v] = F32::load(sum + v * kLanes); });
    for (size_t i = 0; i < length; ++i, a += g.a_k) {
      const F32 x(*a);
      repeat<kVecs>([&](int v) __attribute__((always_inline)) {
        acc[v] = fma(x, F32::load(part + i * kColumns + v * kLanes), acc[v]);
      });
    }
    repeat<kVecs>([&](int v) __attribute__((always_inline)) { acc[v].store(sum + v * kLanes); });
  }
  void finish(size_t col, size_t cols) const {
    for (size_t r = 0; r < g.rows; ++r) {
      const AffineEpilogue f = g.affine.at(r, col);
      float* c = static_cast<float*>(g.c) + r * g.ldc + col;
      for (size_t j = 0; j < cols; j += kLanes) {
        const size_t left = cols - j;
        const F32 out = finished(F32::load(sums + r * kColumns + j), f, j, left);
        left >= size_t(kLanes) ? out.store(c + j) : store_first(c + j, out, left);
      }
    }
  }
};

}  // namespace sdx::SDX_ISA
