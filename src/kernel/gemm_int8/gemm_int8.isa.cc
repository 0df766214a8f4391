#include "kernel/gemm_int8/block.h"
#include "kernel/gemm_int8/ends.h"
#include "kernel/gemm_int8/quad_tiles.h"
#include "kernel/gemm_int8/ready_block.h"
#include "kernel/gemm_int8/rows_in_place.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

// One row block against one panel.
void run_panel(const Int8Block& g, size_t row, size_t rows, size_t col, const int32_t* a,
               const int32_t* panel) {
  alignas(64) int32_t sum[kRowBlock * kPanel];
  const size_t width = panel_width(least(kPanel, g.cols - col));
  sum_products({quads_of(g.k), rows, width, reinterpret_cast<const uint8_t*>(a + rows),
                reinterpret_cast<const int8_t*>(panel + width), sum, panel},
               g.unit);
  end_panel(g, row, rows, col, a, panel, sum);
}

// What follows when the columns [first, end) of some rows are there.
void call_epilogues(const Int8Block& g, size_t row, size_t rows, size_t first, size_t end) {
  if (g.epilogue.fn != nullptr) {
    g.epilogue.fn(g.epilogue.ctx, g.c + row * g.ldc + first, g.ldc, g.row + row, g.col + first,
                  rows, end - first);
  }
  if (g.y_epilogue.fn != nullptr) {
    g.y_epilogue.fn(g.y_epilogue.ctx, g.y + row * g.ldc + first, g.ldc, g.row + row, g.col + first,
                    rows, end - first);
  }
}

#if defined(SDX_ISA_avx512)

// Rows of contiguous bytes, and enough of them to fill a good part of a tile.
bool fits_tiles(const Int8Block& g) {
  return (g.unit == Int8Unit::amx || g.unit == Int8Unit::amx_in_memory) && g.a_packed == nullptr &&
         g.a_k == 1 && g.rows >= 8 && g.k >= 32;
}

// All rows against panels, 32 rows at a time. Signed bytes are taken as they are: the zero point is
// then the caller's, and rows are summed with their signs.
void run_tiles(const Int8Block& given, size_t group) {
  Int8Block g = given;
  g.a_zero_add = 0;
  const size_t blocks = row_blocks(g.rows), begin = row_block_begin(g.rows, blocks, g.block_begin),
               last = row_block_begin(g.rows, blocks, g.block_end);
  alignas(64) int32_t sum[kAmxRows * kPanel];
  Int8Tiles t{};
  t.k = g.k;
  t.a_row = g.a_row;
  t.a_signed = g.a_signed;
  t.sum = sum;
  t.in_memory = g.unit == Int8Unit::amx_in_memory;
  for (size_t first = 0; first < g.cols; first += group) {
    const size_t end = least(g.cols, first + group);
    size_t shaped = 0;
    for (size_t row = begin; row < last; row += t.rows) {
      t.rows = least(kAmxRows, last - row);
      t.a = static_cast<const uint8_t*>(g.a) + row * g.a_row;
      if (t.rows != shaped && !t.in_memory) int8_tiles_begin(t.rows);
      shaped = t.rows;
      int32_t row_sums[kAmxRows];
      for (size_t r = 0; r < t.rows; ++r) {
        const uint32_t s = sum_of_bytes(t.a + r * g.a_row, g.k, g.a_signed ? 0x80 : 0);
        row_sums[r] = int32_t(g.a_signed ? s - 128 * uint32_t(g.k) : s);
      }
      for (size_t col = first; col < end; col += kPanel) {
        const int32_t* panel = g.b + col / kPanel * int8_panel_size(g.k, kPanel);
        t.width = panel_width(least(kPanel, g.cols - col));
        t.b = reinterpret_cast<const int8_t*>(panel + t.width);
        int8_tiles(t);
        end_panel(g, row, t.rows, col, row_sums, panel, sum);
      }
      call_epilogues(g, row, t.rows, first, end);
    }
    if (!t.in_memory) int8_tiles_end();
  }
}

#else

bool fits_tiles(const Int8Block&) { return false; }
void run_tiles(const Int8Block&, size_t) {}
bool reads_rows_in_place(const Int8Block&) { return false; }
void run_rows(const Int8Block&, size_t, size_t, size_t, size_t) {}

#endif

#if defined(SDX_ISA_avx2) || defined(SDX_ISA_avx512)
bool makes_rows_ready(const Int8Block& g) { return g.unit == Int8Unit::plain; }
#else
constexpr size_t kReadyPanels = 1;
bool makes_rows_ready(const Int8Block&) { return false; }
void run_ready(const Int8Block&, size_t, size_t, size_t, size_t) {}
#endif

// Packs a row block, where it is not packed, and runs it against the panels of columns [first,
// end).
void run_packed(const Int8Block& g, size_t row, size_t rows, size_t first, size_t end) {
  const int32_t* a = g.a_pack;
  if (g.a_packed != nullptr) {
    a = g.a_packed + int8_rows_size(g.k, row);
  } else {
    int8_pack_rows(static_cast<const char*>(g.a) + row * g.a_row, g.a_signed, g.a_row, g.a_k, g.k,
                   rows, g.a_pack);
  }
  for (size_t col = first; col < end; col += kPanel)
    run_panel(g, row, rows, col, a, g.b + col / kPanel * int8_panel_size(g.k, kPanel));
}

}  // namespace

void int8_requantize(const int32_t* sums, size_t n, uint32_t add, float ratio, int32_t zero,
                     bool is_signed, uint8_t* y) {
  requantize_row({0, add, ratio, zero, is_signed ? -128 : 0}, sums, nullptr, n, y);
}

void int8_block(const Int8Block& g) {
  // Panels that fill about half a megabyte stay in the second-level cache while the rows pass over
  // them; fewer where rows need no packing and an epilogue follows, for the blocks then stay in the
  // first until it.
  const size_t panel_size = int8_panel_size(g.k, kPanel), blocks = row_blocks(g.rows);
  const bool tiles = fits_tiles(g), in_place = tiles || reads_rows_in_place(g),
             ready = makes_rows_ready(g),
             waits = g.epilogue.fn != nullptr || g.y_epilogue.fn != nullptr;
  const size_t panels = (g.cols + kPanel - 1) / kPanel,
               fit = (in_place && waits ? 32768
                      : ready           ? 81920
                                        : 131072) /
                         panel_size +
                     1,
               most = ready ? least(fit, kReadyPanels) : fit, groups = (panels + most - 1) / most,
               group = (panels + groups - 1) / groups * kPanel;
  if (tiles) return run_tiles(g, group);
  for (size_t first = 0; first < g.cols; first += group) {
    const size_t end = least(g.cols, first + group);
    for (size_t block = g.block_begin; block < g.block_end; ++block) {
      const size_t row = row_block_begin(g.rows, blocks, block);
      const size_t rows = row_block_begin(g.rows, blocks, block + 1) - row;
      const auto run = in_place ? &run_rows : ready ? &run_ready : &run_packed;
      run(g, row, rows, first, end);
      call_epilogues(g, row, rows, first, end);
    }
  }
}

}  // namespace sdx::SDX_ISA
