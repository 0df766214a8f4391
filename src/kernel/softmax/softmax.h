// softmax_rows: the softmax of each row of a block, in place; for Softmax and for attention, with
// the bits of the addition before it and the guard after it.
//
// m = max x; e = exp(x - m); s = sum e by 16 lanes; y = e / s.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

struct SoftmaxRows {
  // x[row * ld + column]; behind the n columns a row has room up to a multiple of 16.
  float* x = nullptr;
  size_t ld = 0, rows = 0, n = 0;
  // Added to x first, if not null: mask[row * mask_row + column * mask_col], floats or halves.
  const void* mask = nullptr;
  size_t mask_row = 0, mask_col = 0;
  // What stands for NaN in the result.
  float nan = __builtin_nanf("");
  // A row of -infinity alone becomes zeros.
  bool dark_is_zero = false;
  // x, the mask and every result on the way are rounded to float16.
  bool halves = false;
};

SDX_DECLARE_ISAS(void softmax_rows(const SoftmaxRows&);
                 // Rows of n floats, one behind the other, from x to y, which may be x.
                 void softmax_apart(const float* x, float* y, size_t rows, size_t n);)

}  // namespace sdx
