// gemm: C = A * B for row-major or transposed operands, batched, with a bias and an epilogue while
// the block is in cache.
//
// The meaning, to the bit (kernel/gemm/reference.h): each element is one chain acc = fma(a[i][k],
// b[k][j], acc) from +0, k ascending; then * alpha, + beta * bias, + other, each rounded on its
// own, and NaN made canonical. float16 and bfloat16 operands are widened to float first and the
// result is rounded to C's type once, at the end.
#pragma once

#include <cstddef>

#include "base/dtype.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

struct GemmArgs {
  size_t m = 0, n = 0, k = 0;

  // Element types are f32, f16 or bf16, each on its own.
  const void* a = nullptr;  // a[i * lda + k], or a[k * lda + i] if trans_a
  size_t lda = 0;
  bool trans_a = false;
  DType a_type = DType::f32;

  const void* b = nullptr;  // b[k * ldb + j], or b[j * ldb + k] if trans_b
  size_t ldb = 0;
  bool trans_b = false;
  DType b_type = DType::f32;
  const float* b_packed = nullptr;  // instead of b: what gemm_pack_b wrote

  void* c = nullptr;  // c[i * ldc + j]; must not overlap A, B or bias
  size_t ldc = 0;
  DType c_type = DType::f32;

  // Bias elements have C's type when that is 16 bits wide: pass them in `bias_16` then, and leave
  // affine.bias null. Rows of affine.other, which is only for C of f32, are numbered through the
  // batch.
  AffineEpilogue affine;
  bool raw = false;     // only for C of f32: the bare chains, any NaN as it comes
  bool resume = false;  // only for C of f32: the chains go on from what C holds
  const void* bias_16 = nullptr;
  // Rows are numbered through the batch: batch index * m + row. Blocks of a C of 16 bits come as
  // floats, rounded to its type, and are rounded again after.
  BlockEpilogue epilogue;

  // Products of a batch lie this many elements apart; 0 shares the operand.
  size_t batch = 1;
  size_t a_batch = 0, b_batch = 0, c_batch = 0, bias_batch = 0;

  void* scratch = nullptr;  // gemm_scratch_bytes(), aligned to 64
};

void gemm(const GemmArgs&, Pool&, Isa);
// One product (batch 1) on the calling thread alone, with gemm_scratch_bytes(args, 1).
void gemm_here(const GemmArgs&, Isa);
// What gemm needs for these sizes; reads no pointer but tests whether b_packed is null.
size_t gemm_scratch_bytes(const GemmArgs&, int threads);

// Whether a large B that is not packed is read where it lies about as fast as a packed one that
// comes from memory, since few rows of A meet it; and whether it is read faster.
bool gemm_reads_in_place(const GemmArgs&);
bool gemm_gains_in_place(const GemmArgs&);

// B in panels of 32 columns, each panel k-major; the same layout at every instruction-set level. A
// batch of packed matrices lies gemm_packed_b_size() elements apart.
size_t gemm_packed_b_size(size_t k, size_t n);
void gemm_pack_b(const void* b, DType type, size_t ldb, bool trans_b, size_t k, size_t n,
                 float* packed, Pool&, Isa);
void gemm_pack_b_here(const void* b, DType type, size_t ldb, bool trans_b, size_t k, size_t n,
                      float* packed, Isa);

struct GemmF64Args {
  size_t m = 0, n = 0, k = 0;
  const double* a = nullptr;
  size_t lda = 0;
  bool trans_a = false;
  const double* b = nullptr;
  size_t ldb = 0;
  bool trans_b = false;
  double* c = nullptr;
  size_t ldc = 0;
  double alpha = 1;
  const double* bias = nullptr;  // as in AffineEpilogue
  size_t bias_row = 0, bias_col = 0;
  double beta = 1;
  size_t batch = 1;
  size_t a_batch = 0, b_batch = 0, c_batch = 0, bias_batch = 0;
};
void gemm_f64(const GemmF64Args&, Pool&, Isa);

}  // namespace sdx
