// What FusedAttention is and where its matrices lie, for its reference and for its kernel.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "kernel/program/program.h"
#include "ops/common.h"
#include "ops/matmul/batch.h"

namespace sdx::ops::attention_parts {

using Axes = std::vector<size_t>;

struct FusedAttention {
  std::optional<Program> scores;   // on the product Q * K, and the operands that follow V
  std::optional<Program> weights;  // on the softmax's result
  bool adds_mask = false;          // `scores` adds its operand, and no more
  std::optional<float> guard;      // `weights` replaces NaN, and does no more
  // As in Transpose: Q, K and V are turned so before, Y after. Empty: they lie as they are meant.
  Axes q, k, v, y;
  std::optional<float> k_scale;  // K is multiplied by this first
  size_t repeat = 1;             // every matrix of K and V stands for this many, one after another
};

// Where a batch of matrices lies: steps in elements along the batch axes (0 where it broadcasts),
// from row to row and from column to column.
struct MatrixSteps {
  std::array<size_t, kMostBatchAxes> batch{};
  size_t row = 0, column = 0;
};

// Everything that a run needs to know of the shapes.
struct Sizes {
  static constexpr size_t kMostAxes = kMostBatchAxes;
  size_t batches = 1, m, n, depth, width;  // scores are m x n, results m x width
  size_t axes;                             // batch axes
  std::array<size_t, kMostAxes> size{};
  size_t repeat;  // so many batches along the last axis read the same K and V
  MatrixSteps q, k, v, y;
  // Of each operand, in elements: along the batch axes, then along rows and columns.
  std::array<std::array<size_t, kMostAxes + 2>, Program::kMostInputs> operand{};
};

Sizes sizes_of(const FusedAttention&, const Args&);
Sizes sizes_of(const FusedAttention&, const Call&);

// Where a batch begins in what has these steps along the batch axes.
inline size_t at(const Sizes& s, const size_t* step, size_t batch, size_t repeat = 1) {
  size_t offset = 0;
  for (size_t i = s.axes; i-- > 0; repeat = 1) {
    offset += batch % s.size[i] / repeat * step[i];
    batch /= s.size[i];
  }
  return offset;
}
inline size_t at_k(const Sizes& s, size_t batch) {
  return at(s, s.k.batch.data(), batch, s.repeat);
}
inline size_t at_v(const Sizes& s, size_t batch) {
  return at(s, s.v.batch.data(), batch, s.repeat);
}

// The kernel: blocks of rows whose scores never leave the cache.
bool blocks_fit(const FusedAttention&, const Call&);
size_t blocks_scratch(const FusedAttention&, const Call&);
Status run_blocks(const FusedAttention&, Args&);

}  // namespace sdx::ops::attention_parts
