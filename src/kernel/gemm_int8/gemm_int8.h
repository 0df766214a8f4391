// gemm_int8: C[i][j] = sum over k of (a[i][k] - a_zero[i]) * (b[k][j] - b_zero[j]) for 8-bit
// operands of either sign, exact modulo 2^32. Integer addition has no order to keep, so each level
// uses the instructions that suit it best.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

// As BlockEpilogue in kernel/epilogue/epilogue.h, for sums of integers.
struct BlockEpilogueInt32 {
  void (*fn)(void* ctx, int32_t* c, size_t ldc, size_t row, size_t col, size_t rows,
             size_t cols) = nullptr;
  void* ctx = nullptr;
};

// y = saturate(nearest(float(sum + bias[row]) * ratio[row]) + zero), ties to even, NaN as 0.
struct Requantize {
  const float* ratio = nullptr;
  const int32_t* bias = nullptr;  // null is 0
  int32_t zero = 0;               // in the range of y's type
  bool is_signed = false;
  uint8_t* y = nullptr;

  // The same, seen from another corner of y.
  [[gnu::always_inline]] Requantize at(size_t row, size_t y_offset) const {
    Requantize r = *this;
    if (ratio != nullptr) r.ratio += row;
    if (bias != nullptr) r.bias += row;
    if (y != nullptr) r.y += y_offset;
    return r;
  }
};

struct GemmInt8Args {
  size_t m = 0, n = 0, k = 0;

  const void* a =
      nullptr;  // a[i * lda + k], or a[k * lda + i] if trans_a; int8_t if a_signed, else uint8_t
  size_t lda = 0;
  bool trans_a = false, a_signed = false;

  const void* b = nullptr;  // b[k * ldb + j], or b[j * ldb + k] if trans_b
  size_t ldb = 0;
  bool trans_b = false, b_signed = false;
  const int32_t* b_packed = nullptr;  // instead of b: what gemm_int8_pack_b wrote for this b_signed

  // Zero points: null is 0; step 0 means one for all, 1 one per row of A or column of B.
  const int32_t* a_zero = nullptr;
  size_t a_zero_step = 0;
  const int32_t* b_zero = nullptr;
  size_t b_zero_step = 0;

  int32_t* c = nullptr;  // c[i * ldc + j]
  size_t ldc = 0;
  BlockEpilogueInt32 epilogue;  // rows are numbered through the batch
  // Instead of c: the floats nearest to the sums, what follows at once, and on blocks of them.
  float* y = nullptr;
  AffineEpilogue affine;  // its rows are numbered through the batch
  BlockEpilogue y_epilogue;
  // Or bytes, where requantize.y is not null: rows are one product's, and b_zero_step is 0.
  Requantize requantize;

  size_t batch = 1;
  size_t a_batch = 0, b_batch = 0, c_batch = 0;  // elements between products; 0 shares the operand

  void* scratch = nullptr;  // gemm_int8_scratch_bytes(), aligned to 64
};

void gemm_int8(const GemmInt8Args&, Pool&, Isa);
size_t gemm_int8_scratch_bytes(const GemmInt8Args&, int threads);

// In elements of int32_t. The layout is the same at every level.
size_t gemm_int8_packed_b_size(size_t k, size_t n);
void gemm_int8_pack_b(const void* b, bool b_signed, size_t ldb, bool trans_b, size_t k, size_t n,
                      int32_t* packed, Pool&, Isa);

}  // namespace sdx
