// Finish: what happens to a matrix product's element after its chain of multiply-adds, each step
// rounded on its own.
#pragma once

#include <cstddef>

namespace sdx {

// out = canonical(((acc * alpha) + bias * beta) + other); a factor of 1 is no operation, and no
// bias or other is no addition.
struct Finish {
  float alpha = 1;
  const float* bias = nullptr;  // bias[row * bias_row + column * bias_col]
  size_t bias_row = 0;
  size_t bias_col = 0;  // 0 or 1
  float beta = 1;
  const float* other = nullptr;  // other[row * other_row + column]
  size_t other_row = 0;

  // The same, seen from another corner.
  [[gnu::always_inline]] Finish at(size_t row, size_t col) const {
    Finish f = *this;
    if (bias != nullptr) f.bias += row * bias_row + col * bias_col;
    if (other != nullptr) f.other += row * other_row + col;
    return f;
  }
};

// Called when a block of the output is final, by the thread that made it, while the block is still
// in its cache. The blocks are disjoint and cover the output; `row` and `col` are the block's
// corner and `c` points to it.
struct Epilogue {
  void (*fn)(void* ctx, float* c, size_t ldc, size_t row, size_t col, size_t rows,
             size_t cols) = nullptr;
  void* ctx = nullptr;
  // A block of one panel costs no more per element than a wide one, so it is best given at once.
  bool narrow_blocks = false;
};

}  // namespace sdx
