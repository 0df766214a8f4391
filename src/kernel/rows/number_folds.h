// Reductions of doubles and integers along rows (contiguous elements) and columns (many at a time),
// to the bit as the operators define them (ops/reduction): sums and products of doubles by the 16
// lanes of kernel/lanes.h, those of integers modulo 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/elementwise/numbers.h"
#include "kernel/isa.h"
#include "kernel/rows/rows.h"

namespace sdx {

// What elements come to, in 64 bits: the bits of a double, of a sum modulo 2^64, or of the greatest
// or least integer with its sign spread. The max and min of doubles are NaN if an element is, and
// take -0 to be less than +0; other NaN results are not canonical.
struct NumberFold {
  // y[r] = the fold of x[r * n + i] over i < n, for r < rows.
  void (*rows)(const void* x, size_t rows, size_t n, uint64_t* y);
  // y[c] = the fold of x[i * step + c] over i < n, for c < cols.
  void (*columns)(const void* x, size_t n, size_t step, size_t cols, uint64_t* y);
};

// The loops of one level, for n of 1 and more; null where there are none: of f32 and bools.
SDX_DECLARE_ISAS(NumberFold number_fold(Fold fold, NumberType type);)

}  // namespace sdx
