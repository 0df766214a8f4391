// BlockWeights: a matrix of weights as language models store them: one row of blocks per output
// column, each element a few bits that stand for a number by the block's scale.
#pragma once

#include <vector>

#include "ops/common.h"

namespace sdx::ops::microsoft {

// Element k of column j, for k in [0, depth) and j in [0, columns): what the operator says that the
// bits stand for, as a float, rounded once.
using WeightAt = float (*)(const void* source, size_t j, size_t k);

// A product with such a matrix as float weights packed once: for widths that have no kernel which
// reads the bits themselves. Each y[i, j] is one chain of fma, k ascending, then + bias[j].
struct PackedWeights {
  static std::shared_ptr<const void> pack(size_t depth, size_t columns, WeightAt at,
                                          const void* source, Pool& pool, Isa isa);
  static size_t scratch(size_t rows, size_t depth, size_t columns, int threads);
  // `x` is [rows, depth], `y` [rows, columns], both float; `bias` may be null.
  static void run(size_t rows, size_t depth, size_t columns, const float* x, const void* packed,
                  const float* bias, float* y, void* scratch, Pool& pool, Isa isa);
};

// The meaning: y[i, j] = (chain of fma over k of x[i, k] * weight(j, k)) + bias[j] in float,
// rounded once to the type of y.
void block_product(size_t depth, size_t columns, WeightAt at, const void* source, const View& x,
                   const View& bias, const View& y);

Status check_block_size(int64_t block);

// Whether a fact that is known has this many elements.
Status require_count(const Fact& fact, size_t count, std::string_view what);

// All axes of x but the last.
size_t rows_of(std::span<const int64_t> dims);

// x [..., depth] gives y [..., columns]; an error if the last size is another one.
Result<Facts> infer_block_product(const Fact& x, int64_t depth, int64_t columns);

}  // namespace sdx::ops::microsoft
