// What 8-bit products ask of the code compiled per instruction-set level.
//
// One form of operands serves all levels: A as unsigned bytes, B as signed bytes (the other sign
// has its top bit flipped and its zero point moved by 128), in groups of 4 along k. Sums of A's
// rows and B's columns, taken while packing, then account for the zero points: sum (a - za)(b - zb)
// = sum ab - za * sum b - zb * (sum a - k * za).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/gemm/block.h"
#include "kernel/gemm_int8/gemm_int8.h"
#include "kernel/gemm_int8/most.h"
#include "kernel/gemm_int8/unit.h"
#include "kernel/isa.h"

namespace sdx {

[[gnu::always_inline]] inline size_t quads_of(size_t k) { return (k + 3) / 4; }

// Int32 elements of a packed panel of B: the columns' sums, then [k / 4][column][k % 4] bytes, then
// Int8Most of them in a line of its own.
inline constexpr size_t kLine = 16;
[[gnu::always_inline]] inline size_t int8_panel_size(size_t k, size_t cols) {
  return panel_width(cols) * (1 + quads_of(k)) + kLine;
}
[[gnu::always_inline]] inline size_t int8_most_at(size_t k, size_t cols) {
  return panel_width(cols) * (1 + quads_of(k));
}
// Int32 elements of a packed row block of A: the rows' sums, then [k / 4][row][k % 4] bytes.
[[gnu::always_inline]] inline size_t int8_rows_size(size_t k, size_t rows) {
  return rows * (1 + quads_of(k));
}

struct Int8Block {
  size_t rows, cols, k;
  size_t block_begin, block_end;  // of the rows' row blocks
  Int8Unit unit;

  // Rows are packed into `a_pack` (int8_rows_size(k, kRowBlock)) from `a`, or lie packed, block
  // after block, at `a_packed`.
  const void* a;
  bool a_signed;
  size_t a_row, a_k;
  const int32_t* a_packed;
  int32_t* a_pack;

  const int32_t* b;  // panels

  // Zero points of the operands as packed, so 128 away from the caller's for a flipped sign; null
  // with the shift in `_add`.
  const int32_t* a_zero;
  size_t a_zero_step;
  int32_t a_zero_add;
  const int32_t* b_zero;
  size_t b_zero_step;
  int32_t b_zero_add;

  // Sums go to c, as floats to y, or as bytes to requantize.y (b_zero_step is 0 then): to the one
  // that is not null, with rows of ldc.
  int32_t* c;
  float* y;
  size_t ldc;
  Requantize requantize;
  AffineEpilogue affine;  // of y
  BlockEpilogueInt32 epilogue;
  BlockEpilogue y_epilogue;
  size_t row, col;  // of the corner, for the epilogue
};

SDX_DECLARE_ISAS(void int8_block(const Int8Block&);
                 // b[k * b_k + column * b_col]
                 void int8_pack_panel(const void* b, bool b_signed, size_t b_k, size_t b_col,
                                      size_t k, size_t cols, int32_t* panel);
                 // What a panel ends with, once all of its bytes are there.
                 void int8_end_panel(size_t k, size_t cols, int32_t* panel);
                 // As int8_pack_panel, k after k, but for that end: `sums` (kPanel, zero at first)
                 // grow, and `out` is where the bytes of this stretch of k begin. Rows of `width`
                 // bytes lie `step` apart; all but the last stretch are multiples of 4.
                 void int8_pack_steps(const uint8_t* rows, size_t step, bool is_signed, size_t k,
                                      size_t width, int32_t* sums, uint8_t* out);
                 // n sums of one row, `add` to be added to each.
                 void int8_requantize(const int32_t* sums, size_t n, uint32_t add, float ratio,
                                      int32_t zero, bool is_signed, uint8_t* y);
                 // a[row * a_row + k * a_k]
                 void int8_pack_rows(const void* a, bool a_signed, size_t a_row, size_t a_k,
                                     size_t k, size_t rows, int32_t* packed);)

// Sums by AMX: up to kAmxRows rows against the `width` columns of a panel.
inline constexpr size_t kAmxRows = 32;
struct Int8Tiles {
  size_t k, rows, width;
  const uint8_t* a;
  size_t a_row;
  bool a_signed;
  const int8_t* b;  // [k / 4][column][4]
  int32_t* sum;     // [row][kPanel]
  bool in_memory;   // Int8Unit::amx_in_memory
};
SDX_DECLARE_ISAS(void int8_tiles(const Int8Tiles&);
                 // Around calls with the same number of rows, on each thread.
                 void int8_tiles_begin(size_t rows); void int8_tiles_end();)

}  // namespace sdx
