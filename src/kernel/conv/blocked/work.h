// What conv_blocked.cc asks of the code compiled per instruction-set level.
#pragma once

#include <cstddef>

#include "kernel/conv/blocked/conv_blocked.h"
#include "kernel/isa.h"

namespace sdx {

// How the tiles of a level look, and what they leave in the caches.
struct BlockedTiles {
  size_t positions;           // of a tile, at most
  size_t positions_two_rows;  // in each of two rows, at most
  bool across_rows;  // a tile is any run of positions; else part of a row, or two short rows
  size_t blocks;     // of output channels that a tile makes
  // Floats of one tile's weights that stay in a cache while tiles pass over them, the first-level
  // one or the second, and of inputs that stay in the second-level one while all weights pass; 0:
  // as many as there are.
  size_t near_weights, near_inputs;
  bool weights_in_first;
};

// How the positions of a plane are cut into tiles: each of `runs` into `across` nearly equal parts.
struct BlockedCut {
  size_t runs = 0, run = 0;  // how many, and positions of one
  size_t tile_rows = 1;      // rows of a tile; with two of them `across` is 1
  size_t across = 0;

  BlockedCut() = default;
  BlockedCut(size_t rows, size_t width, const BlockedTiles& t)
      : runs(t.across_rows ? 1 : rows),
        run(t.across_rows ? rows * width : width),
        tile_rows(runs > 1 && width <= t.positions_two_rows ? 2 : 1),
        across((run + t.positions - 1) / t.positions) {}
  size_t tiles() const { return (runs + tile_rows - 1) / tile_rows * across; }
};

// Some blocks of output channels at some tiles of positions of one image.
struct BlockedWork {
  size_t channels;       // of the input
  size_t block_step;     // floats from one block of input channels to the next
  size_t x_row;          // floats from the input of one output row to that of the next
  size_t x_pixel;        // floats from the input of one output to that of the next in its row
  const size_t* tap;     // floats from the first tap to each
  const size_t* tap_at;  // which of the kernel's taps each is
  size_t taps, all_taps;
  const float* x;        // the input of output (0, 0) at the first tap
  const float* weights;  // block b at b * kBlockLanes * depth: [depth][16]
  const float* bias;     // of the first channel, or null
  float* y;              // of block y_block
  size_t width;          // of the output's rows
  size_t y_row;          // positions from one row of the output to the next
  size_t y_plane;        // floats from one block of the output to the next
  size_t y_block;
  BlockedCut cut;
  ClampEpilogue clamp;  // `other` at y's place
  BlockEpilogue epilogue;
  size_t row;  // of the image's first block, for the epilogue

  size_t block_begin, block_end;
  size_t tile_begin, tile_end;
  // So many tiles meet all blocks before the next ones do; of the chains, so many channels at a
  // time, the sums waiting in y. A multiple of 16, or all of them.
  size_t tiles_together, channels_together;
  bool weights_stay;  // in the second-level cache, once the first of these tiles have read them
};

// Rows [row_begin, row_end) of one block of channels of a depthwise convolution.
struct BlockedDepthwise {
  const ConvShape* shape;
  const float* x;  // the block's input plane, from row x_begin on
  size_t x_begin;
  const float* weights;  // [tap][16]
  const float* bias;     // or null
  float* y;              // the block's output plane
  ClampEpilogue clamp;   // `other` at y's place
  BlockEpilogue epilogue;
  size_t row;  // of the block, for the epilogue
  size_t row_begin, row_end;
};

SDX_DECLARE_ISAS(BlockedTiles blocked_tiles(); void conv_blocked_tiles(const BlockedWork&);
                 // One block whose groups have 4 or 8 channels in and out.
                 void conv_blocked_narrow_tiles(const BlockedWork&);
                 // `count` floats that are sums: + clamp.other at their place, and the bounds.
                 void conv_blocked_clamp(const ClampEpilogue& clamp, float* sums, size_t count);
                 void conv_blocked_depthwise(const BlockedDepthwise&);
                 void to_blocks(const float* planes, size_t channels, size_t pixels, float* block);
                 void from_blocks(const float* block, size_t channels, size_t pixels,
                                  float* planes);)

}  // namespace sdx
