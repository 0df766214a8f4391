#include "kernel/conv/channels_last/conv_channels_last.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {

// The panels of weights one after the other, each against all rows while it is in the first cache.
void conv_channels_last_few_rows(const FewRows& g) {
  const size_t blocks = row_blocks(g.rows);
  TileArgs t;
  t.k = g.depth;
  t.a_row = g.x_row;
  // One of the tap after the last, for which there is no step left.
  TileStretch stretches[FewRows::kMostStretches + 1];
  for (size_t i = 0; i < g.stretches; ++i)
    stretches[i] = {g.length[i], g.begin[i + 1] - g.begin[i] - ptrdiff_t(g.length[i]) + 1};
  stretches[g.stretches] = {1, 0};
  t.stretches = stretches;
  t.ldc = g.columns;
  t.resume = false;
  AffineEpilogue affine;
  affine.bias_col = 1;
  t.affine = &affine;
  for (size_t col = 0; col < g.columns; col += kPanel) {
    t.cols = g.columns - col < kPanel ? g.columns - col : kPanel;
    t.b = g.weights + col * g.depth;
    t.b_step = panel_width(t.cols);
    affine.bias = g.bias == nullptr ? nullptr : g.bias + col;
    t.a = g.x;
    t.c = g.y + col;
    if (blocks == 1) {  // without the divisions
      tile_block(t, g.rows);
      continue;
    }
    for (size_t block = 0; block < blocks; ++block) {
      const size_t row = row_block_begin(g.rows, blocks, block);
      t.a = g.x + row * g.x_row;
      t.c = g.y + row * g.columns + col;
      tile_block(t, row_block_begin(g.rows, blocks, block + 1) - row);
    }
  }
}

}  // namespace sdx::SDX_ISA
