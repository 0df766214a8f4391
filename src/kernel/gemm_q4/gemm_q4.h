// gemm_q4: C = A B where B is a matrix of 4-bit integers with a scale per block of rows and column,
// and is never made in floats as a whole.
//
// An element of B means float(q - zero point) * scale, rounded once; each element of C is one chain
// acc = fma(a[i][k], b[k][j], acc) from +0, k ascending, and NaN made canonical at the end: the
// bits of a product with B dequantised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

// B as a file holds it: row-major, two elements a byte, the first in the low half. Or column by
// column, each of whole bytes; blocks are then of an even number of rows.
struct Q4Source {
  size_t k = 0, n = 0;
  size_t block = 1;  // rows that share a scale
  bool is_signed = false;
  const uint8_t* q = nullptr;            // k x n
  const float* scale = nullptr;          // ceil(k / block) x n
  const uint8_t* zero = nullptr;         // the same, 4 bits each; null: all are `every_zero`
  unsigned every_zero = 0;               // as four bits
  bool by_columns = false;               // n x k, n x ceil(k / block) and the same
  size_t q_column = 0, zero_column = 0;  // bytes from one column to the next

  size_t blocks() const { return (k + block - 1) / block; }
  float scale_of(size_t of_block, size_t column) const {
    return scale[by_columns ? column * blocks() + of_block : of_block * n + column];
  }
  unsigned zero_of(size_t of_block, size_t column) const {
    if (zero == nullptr) return every_zero;
    const uint8_t* from = by_columns ? zero + column * zero_column : zero;
    const size_t i = by_columns ? of_block : of_block * n + column;
    return from[i / 2] >> (i % 2 * 4) & 15u;
  }
};

// B as the kernels read it: panels of 16 columns. A panel is a run of blocks, and a block holds 16
// scales, 16 zero points if they are not all the same, and for every eight rows 16 words, one per
// column, the first row in the lowest four bits. Elements and zero points are raised by 8 if they
// are signed: only differences count. Four panels make a group (the last has what is left), whose
// vectors alternate, so that a kernel which runs them together reads one stream.
struct alignas(64) Q4Packed {
  size_t k = 0, n = 0, block = 1;
  bool has_zeros = false;  // zero points lie in the blocks; else all are `zero`
  float zero = 0;

  size_t panel_bytes() const;
  // They lie right behind, so that all of it is one piece of memory.
  const char* groups() const { return reinterpret_cast<const char*>(this + 1); }
};
std::shared_ptr<const Q4Packed> pack_q4(const Q4Source&, Pool&);

struct GemmQ4Args {
  size_t m = 0;
  const float* a = nullptr;  // a[i * b->k + k]
  const Q4Packed* b = nullptr;
  float* c = nullptr;  // c[i * b->n + j]
  BlockEpilogue epilogue;
  void* scratch = nullptr;  // gemm_q4_scratch_bytes(), aligned to 64
};

void gemm_q4(const GemmQ4Args&, Pool&, Isa);
size_t gemm_q4_scratch_bytes(size_t m, size_t k, size_t n, int threads);

}  // namespace sdx
