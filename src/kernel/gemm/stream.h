// Few rows against a B that lies as it came: its rows go by one after the other, a few at a time,
// each read from end to end, while the sums wait in C. Memory gives such rows as fast as packed
// panels, in small pages too: prefetchers follow them, and a page is used up once it is at hand.
#pragma once

#include "kernel/gemm/block.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// What follows a chain; `f` is seen from its row, `col` columns before it.
inline F32 finished(F32 out, const AffineEpilogue& f, size_t col) {
  if (f.alpha != 1) out = out * F32(f.alpha);
  if (f.bias != nullptr) {
    F32 bias = f.bias_col == 0 ? F32(*f.bias) : F32::load(f.bias + col);
    if (f.beta != 1) bias = bias * F32(f.beta);
    out = out + bias;
  }
  if (f.other != nullptr) out = out + F32::load(f.other + col);
  return lanes::canonical(out);
}

// Rows [k, k + Steps) of B against one row: the chains of `cols` columns go on from C.
template <int Steps>
inline void stream_to_one(const GemmBlock& g, size_t k, size_t col, size_t cols) {
  constexpr int kVecs = kPanel / kLanes;
  const float* a = static_cast<const float*>(g.a) + k * g.a_k;
  const float* b = g.b + k * g.b_step + col;
  float* c = static_cast<float*>(g.c) + col;
  F32 x[Steps];
  repeat<Steps>([&](int i) __attribute__((always_inline)) { x[i] = F32(a[size_t(i) * g.a_k]); });
  for (size_t j = 0; j < cols; j += kPanel) {
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

// All columns of whole panels, and what follows them; returns how many these are.
inline size_t stream_rows(const GemmBlock& g) {
  constexpr int kSteps = 8;
  constexpr size_t kCols = 4096;  // whose sums stay in the nearest caches
  const size_t all = g.cols / kPanel * kPanel;
  for (size_t col = 0; col < all; col += kCols) {
    const size_t cols = all - col < kCols ? all - col : kCols;
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

}  // namespace sdx::SDX_ISA
