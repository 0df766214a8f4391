// Epilogues: what follows the chain of a product's element before the next operator reads it. Each
// step is rounded on its own, as if its operator had run by itself.
//
//   AffineEpilogue    factor, bias and another matrix, in registers (kernel/gemm)
//   ClampEpilogue     another tensor and two bounds, in registers (kernel/conv/blocked)
//   BlockEpilogue     anything else, called on blocks of outputs that are still in cache
//
// An element-wise program as an epilogue, and which of these it can be, is in program.h.
#pragma once

#include <cstddef>

namespace sdx {

// out = canonical(((acc * alpha) + bias * beta) + other); a factor of 1 is no operation, and no
// bias or other is no addition.
struct AffineEpilogue {
  float alpha = 1;
  const float* bias = nullptr;  // bias[row * bias_row + column * bias_col]
  size_t bias_row = 0;
  size_t bias_col = 0;  // 0 or 1
  float beta = 1;
  const float* other = nullptr;  // other[row * other_row + column]
  size_t other_row = 0;

  // The same, seen from another corner.
  [[gnu::always_inline]] AffineEpilogue at(size_t row, size_t col) const {
    AffineEpilogue f = *this;
    if (bias != nullptr) f.bias += row * bias_row + col * bias_col;
    if (other != nullptr) f.other += row * other_row + col;
    return f;
  }
};

// + other, then what lies below `low` or above `high` becomes that, and NaN canonical. Relu has the
// bounds +0 and infinity. `low` is not -0, `high` is not 0, neither is NaN.
struct ClampEpilogue {
  const float* other = nullptr;  // as large as the output, or null
  bool bounded = false;
  float low = 0, high = 0;
};

// Called when a block of the output is final, by the thread that made it, while the block is still
// in its cache. The blocks are disjoint and cover the output; `row` and `col` are the block's
// corner and `c` points to it.
struct BlockEpilogue {
  void (*fn)(void* ctx, float* c, size_t ldc, size_t row, size_t col, size_t rows,
             size_t cols) = nullptr;
  void* ctx = nullptr;
  // A block of one panel costs no more per element than a wide one, so it is best given at once.
  bool narrow_blocks = false;
};

}  // namespace sdx
