// What gemm.cc asks of the code compiled per instruction-set level: one thread's share of a
// product.
#pragma once

#include <cstddef>

#include "base/dtype.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"

namespace sdx {

inline constexpr size_t kPanel = 32;     // columns of a panel of packed B
inline constexpr size_t kRowBlock = 12;  // most rows that run against a panel together

// Whether a B that is not packed goes by row after row, each read from end to end, instead of
// column by column: it comes from memory, and few rows of A wait for it.
inline constexpr size_t kStreamedRows = 4;  // of A, at the most
[[gnu::always_inline]] inline bool is_streamed(size_t rows, size_t k, size_t row_floats) {
  constexpr size_t kLongRow = 256, kManyFloats = size_t{1} << 17;
  return rows <= kStreamedRows && row_floats >= kLongRow && k >= kManyFloats / row_floats;
}

// Rows [0, rows) are cut into blocks of nearly equal height, at most kRowBlock: none is left with
// one or two rows.
[[gnu::always_inline]] inline size_t row_blocks(size_t rows) {
  return (rows + kRowBlock - 1) / kRowBlock;
}
[[gnu::always_inline]] inline size_t row_block_begin(size_t rows, size_t blocks, size_t i) {
  return rows * i / blocks;
}
// The width in memory of a panel that holds `cols` columns.
[[gnu::always_inline]] inline size_t panel_width(size_t cols) {
  return cols >= kPanel ? kPanel : (cols + 15) / 16 * 16;
}

struct GemmBlock {
  size_t rows, cols, k;

  const void* a;  // a[row * a_row + k * a_k]
  DType a_type;
  size_t a_row, a_k;

  // Panel p begins at b + p * b_panel, element (k, column) at k * b_step + column. A last panel
  // narrower than kPanel is at b_tail instead, with its own width as the step.
  const float* b;
  size_t b_panel, b_step;
  const float* b_tail;

  void* c;
  DType c_type;
  size_t ldc;

  AffineEpilogue affine;
  bool raw, resume;
  const void* bias_16;
  BlockEpilogue epilogue;
  size_t row, col;  // of the corner, for the epilogue

  float* a_pack;  // block_scratch_floats
};

// A B whose rows are columns of the product: element (k, column) at column * ld + k.
struct TransposedB {
  const void* data;
  DType type;
  size_t ld;

  [[gnu::always_inline]] size_t element_bytes() const { return type == DType::f32 ? 4 : 2; }
  [[gnu::always_inline]] size_t row_bytes() const { return ld * element_bytes(); }
  [[gnu::always_inline]] const char* row(size_t column) const {
    return static_cast<const char*>(data) + column * row_bytes();
  }
};

// Longest stretch of k before the chains of a product are put aside, at any level.
inline constexpr size_t kLongest = 768;
// And of a convolution's reduction (kernel/conv/planes).
inline constexpr size_t kDepth = 512;

// Rows of A that are copied lie side by side, a line apart so that they fall into different sets of
// the first cache.
[[gnu::always_inline]] inline size_t packed_row_floats(size_t length) {
  return (length + 15) / 16 * 16 + 16;
}
// Row blocks that share the panels in the second cache. Their 16-bit outputs wait as floats until k
// is through.
inline constexpr size_t kBlocksTogether = 11;
inline constexpr size_t kWaitingRows = kBlocksTogether * kRowBlock, kWaitingCols = 8 * kPanel;
[[gnu::always_inline]] inline size_t packed_rows_floats(size_t rows, size_t k) {
  const size_t blocks = row_blocks(rows) < kBlocksTogether ? row_blocks(rows) : kBlocksTogether;
  return blocks * kRowBlock * packed_row_floats(k > kLongest ? kLongest : k);
}
[[gnu::always_inline]] inline size_t block_scratch_floats(size_t rows, size_t k, DType c_type) {
  const size_t waiting = c_type == DType::f32 ? 0 : rows < kWaitingRows ? rows : kWaitingRows;
  return packed_rows_floats(rows, k) + waiting * kWaitingCols;
}

struct GemmF64Args;

SDX_DECLARE_ISAS(void gemm_block(const GemmBlock&);
                 // kStreamedRows floats or fewer; what the block says of B does not count.
                 void gemm_block_transposed(const GemmBlock&, const TransposedB&);
                 // One panel of `cols` <= kPanel columns; b[k * b_k + column * b_col].
                 void gemm_pack_panel(const void* b, DType type, size_t b_k, size_t b_col, size_t k,
                                      size_t cols, float* panel);
                 void gemm_f64_rows(const GemmF64Args&, size_t batch, size_t row_begin,
                                    size_t row_end);)

}  // namespace sdx
