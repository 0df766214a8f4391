// Depthwise convolutions whose lanes are channels: what channels_last and blocked share. A tile is
// some neighbouring positions of one output row by one register of channels.
#pragma once

#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/epilogue/epilogue.h"

namespace sdx {

// One output channel per input channel; two dimensions.
inline bool depthwise_tiles_fit(const ConvShape& s) {
  return s.groups == s.in_channels && s.groups == s.out_channels;
}

#if defined(SDX_ISA)
namespace SDX_ISA {

struct DepthwiseTile {
  const ConvShape* shape;
  size_t step;     // floats from one column to the next, of x and y, and from tap to tap
  const float* x;  // column 0 of input row `x_begin`, at the first channel; so are the others
  size_t x_begin;
  const float* weights;  // [tap][step]
  const float* bias;     // or null
  float* y;              // column 0 of row 0
  ClampEpilogue clamp;   // `other` at y's place
  size_t row, column;    // of the first output
};

// Positions of a tile, the most first.
#if defined(SDX_ISA_avx512) || defined(SDX_ISA_neon)
inline constexpr int kDepthwisePositions[] = {14, 8, 7, 4, 2, 1};
#elif defined(SDX_ISA_avx2)
inline constexpr int kDepthwisePositions[] = {7, 4, 2, 1};
#else
inline constexpr int kDepthwisePositions[] = {4, 1};
#endif
inline constexpr int kDepthwiseSizes =
    int(sizeof kDepthwisePositions / sizeof *kDepthwisePositions);

// By size, as in kDepthwisePositions.
struct DepthwiseTiles {
  void (*run[kDepthwiseSizes])(const DepthwiseTile&);
};
const DepthwiseTiles& depthwise_tiles(const ConvShape&);

}  // namespace SDX_ISA
#endif

}  // namespace sdx
