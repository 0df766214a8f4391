// What conv_blocked.cc asks of the code compiled per instruction-set level.
#pragma once

#include <cstddef>

#include "kernel/conv/blocked/conv_blocked.h"
#include "kernel/isa.h"

namespace sdx {

inline constexpr size_t kBlockedPanel = 32;  // output channels whose weights lie together

// Some panels of output channels at some tiles of positions of one image.
//
// A tile is a run of positions along a row, or two short rows. The rows of a plane are cut into
// `across` nearly equal runs; with two rows to a tile `across` is 1.
struct BlockedWork {
  size_t channels;       // of the input
  size_t block_step;     // floats from one block of input channels to the next
  size_t c_step;         // floats from one channel to the next
  size_t x_row;          // floats from the input of one output row to that of the next
  size_t x_pixel;        // floats from the input of one output to that of the next in its row
  const size_t* tap;     // floats from the first tap to each
  const size_t* tap_at;  // which of the kernel's taps each is
  size_t taps, all_taps;
  const float* x;        // the input of output (0, 0) at the first tap
  const float* weights;  // panel p at p * kBlockedPanel * depth: [depth][its channels]
  const float* bias;     // of the first channel, or null
  float* y;              // of block y_block
  size_t rows, width;    // of the output
  size_t y_row;          // positions from one row of the output to the next
  size_t y_plane;        // floats from one block of the output to the next
  size_t y_block;
  size_t blocks;  // of output channels
  size_t tile_rows, across;
  ClampEpilogue clamp;  // `other` at y's place
  BlockEpilogue epilogue;
  size_t row;  // of the image's first block, for the epilogue

  size_t panel_begin, panel_end;
  size_t tile_begin, tile_end;
};

// Positions of a tile at each level, at most.
struct BlockedTiles {
  size_t positions, positions_two_rows;  // the second: in each of two rows
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
                 // `count` floats that are sums: + clamp.other at their place, and the bounds.
                 void conv_blocked_clamp(const ClampEpilogue& clamp, float* sums, size_t count);
                 void conv_blocked_depthwise(const BlockedDepthwise&);
                 void to_blocks(const float* planes, size_t channels, size_t pixels, float* block);
                 void from_blocks(const float* block, size_t channels, size_t pixels,
                                  float* planes);)

}  // namespace sdx
