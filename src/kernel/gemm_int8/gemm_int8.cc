#include "kernel/gemm_int8/gemm_int8.h"

#include <algorithm>

#include "base/aligned.h"
#include "base/fitting.h"
#include "kernel/gemm_int8/block.h"

namespace sdx {
namespace {

size_t panels_of(size_t n) { return (n + kPanel - 1) / kPanel; }

// Scratch: per thread a packed row block of A, then packed B.
size_t rows_elements(const GemmInt8Args& g) {
  return aligned_floats(int8_rows_size(g.k, kRowBlock));
}
// Whole products per thread where there are enough of them.
bool split_by_product(const GemmInt8Args& g, int threads) { return g.batch >= 2 * size_t(threads); }
size_t b_copies(const GemmInt8Args& g, int threads) {
  if (g.b_packed != nullptr) return 0;
  return g.b_batch != 0 && split_by_product(g, threads) ? size_t(threads) : 1;
}

void pack_panels(const GemmInt8Args& g, size_t index, int32_t* out, size_t first, size_t end,
                 Isa isa) {
  const size_t b_k = g.trans_b ? 1 : g.ldb, b_col = g.trans_b ? g.ldb : 1;
  const char* b = static_cast<const char*>(g.b) + index * g.b_batch;
  for (size_t p = first; p < end; ++p) {
    SDX_PICK(int8_pack_panel, isa)
    (b + p * kPanel * b_col, g.b_signed, b_k, b_col, g.k, std::min(kPanel, g.n - p * kPanel),
     out + p * int8_panel_size(g.k, kPanel));
  }
}

// Rows [row, row_end) and panels [panel, panel_end) of one product of the batch.
Int8Block block(const GemmInt8Args& g, size_t index, const int32_t* b, size_t row, size_t row_end,
                size_t panel, size_t panel_end, int32_t* a_pack, Isa isa) {
  Int8Block k{};
  const size_t col = panel * kPanel;
  k.rows = row_end - row;
  k.block_end = row_blocks(k.rows);
  k.cols = std::min(g.n, panel_end * kPanel) - col;
  k.k = g.k;
  k.unit = int8_unit(isa);
  k.a_signed = g.a_signed;
  k.a_row = g.trans_a ? 1 : g.lda;
  k.a_k = g.trans_a ? g.lda : 1;
  k.a = static_cast<const char*>(g.a) + index * g.a_batch + row * k.a_row;
  k.a_pack = a_pack;
  k.b = b + panel * int8_panel_size(g.k, kPanel);
  k.a_zero = g.a_zero == nullptr ? nullptr : g.a_zero + row * g.a_zero_step;
  k.a_zero_step = g.a_zero_step;
  k.a_zero_add = g.a_signed ? 128 : 0;
  k.b_zero = g.b_zero == nullptr ? nullptr : g.b_zero + col * g.b_zero_step;
  k.b_zero_step = g.b_zero_step;
  k.b_zero_add = g.b_signed ? 0 : -128;
  const size_t corner = index * g.c_batch + row * g.ldc + col;
  if (g.c != nullptr) k.c = g.c + corner;
  if (g.y != nullptr) k.y = g.y + corner;
  k.requantize = g.requantize.at(row, corner);
  k.ldc = g.ldc;
  k.epilogue = g.epilogue;
  k.y_epilogue = g.y_epilogue;
  k.row = index * g.m + row;
  k.col = col;
  k.affine = g.affine.at(k.row, col);
  return k;
}

}  // namespace

size_t gemm_int8_packed_b_size(size_t k, size_t n) {
  must_fit((double(n) + 2 * kPanel) * (double(k) / 4 + kPanel));
  return n / kPanel * int8_panel_size(k, kPanel) + int8_panel_size(k, n % kPanel);
}

void gemm_int8_pack_b(const void* b, bool b_signed, size_t ldb, bool trans_b, size_t k, size_t n,
                      int32_t* packed, Pool& pool, Isa isa) {
  GemmInt8Args g;
  g.n = n;
  g.k = k;
  g.b = b;
  g.b_signed = b_signed;
  g.ldb = ldb;
  g.trans_b = trans_b;
  pool.parallel(panels_of(n), 1,
                [&](size_t begin, size_t end, int) { pack_panels(g, 0, packed, begin, end, isa); });
}

size_t gemm_int8_scratch_bytes(const GemmInt8Args& g, int threads) {
  return (size_t(threads) * rows_elements(g) +
          b_copies(g, threads) * gemm_int8_packed_b_size(g.k, g.n)) *
         sizeof(int32_t);
}

void gemm_int8(const GemmInt8Args& g, Pool& pool, Isa isa) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return;
  const auto run = SDX_PICK(int8_block, isa);
  const int threads = pool.threads();
  const size_t panels = panels_of(g.n), blocks = row_blocks(g.m);
  int32_t* a_pack = static_cast<int32_t*>(g.scratch);
  int32_t* b_pack = a_pack + size_t(threads) * rows_elements(g);
  const auto rows_of = [&](int thread) { return a_pack + size_t(thread) * rows_elements(g); };
  const auto pack_all = [&](size_t index) {
    pool.parallel(panels, 1, [&](size_t begin, size_t end, int) {
      pack_panels(g, index, b_pack, begin, end, isa);
    });
  };
  const bool own_b = g.b_packed == nullptr && g.b_batch != 0;
  if (g.b_packed == nullptr && !own_b) pack_all(0);

  if (split_by_product(g, threads)) {
    pool.parallel(g.batch, 1, [&](size_t begin, size_t end, int thread) {
      int32_t* mine = b_pack + (own_b ? size_t(thread) * gemm_int8_packed_b_size(g.k, g.n) : 0);
      for (size_t i = begin; i < end; ++i) {
        if (own_b) pack_panels(g, i, mine, 0, panels, isa);
        const int32_t* b = g.b_packed != nullptr ? g.b_packed + i * g.b_batch : mine;
        run(block(g, i, b, 0, g.m, 0, panels, rows_of(thread), isa));
      }
    });
    return;
  }

  // Few rows: cut the columns; many: cut the rows, for their packing is then shared by nobody.
  const size_t parts = threads == 1 ? 1 : 4 * size_t(threads);
  const size_t row_parts = std::min(blocks, parts),
               col_parts = std::min(panels, (parts + row_parts - 1) / row_parts);
  for (size_t i = 0; i < g.batch; ++i) {
    if (own_b) pack_all(i);
    const int32_t* b = g.b_packed != nullptr ? g.b_packed + i * g.b_batch : b_pack;
    pool.parallel(row_parts * col_parts, 1, [&](size_t begin, size_t end, int thread) {
      for (size_t part = begin; part < end; ++part) {
        const size_t r = part / col_parts, c = part % col_parts;
        run(block(g, i, b, row_block_begin(g.m, blocks, blocks * r / row_parts),
                  row_block_begin(g.m, blocks, blocks * (r + 1) / row_parts),
                  panels * c / col_parts, panels * (c + 1) / col_parts, rows_of(thread), isa));
      }
    });
  }
}

}  // namespace sdx
