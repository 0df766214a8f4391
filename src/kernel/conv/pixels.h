// conv_pixels: two-dimensional convolutions of images whose channels come last,
// [batch][row][column][channel].
//
// The bits are those of conv.h. A pixel's channels are what a vector holds: products of matrices
// before and after read and write such images where they lie.
#pragma once

#include <cstddef>
#include <span>

#include "kernel/conv/conv.h"
#include "kernel/isa.h"

namespace sdx {

// An image may come in parts: the first channels in one, the next in another.
struct PixelPart {
  const float* x = nullptr;  // [batch][row][column][channels]
  size_t channels = 0;       // of one part, or a multiple of 16
};

struct PixelConvArgs {
  ConvShape shape;  // as conv_pixels_fits wants it
  std::span<const PixelPart> x;
  const float* weights = nullptr;  // what conv_pixels_pack wrote
  const float* bias = nullptr;     // [out_channels], or null
  float* y = nullptr;
  // Rows are output positions, numbered through the batch; columns are output channels.
  Epilogue epilogue;
  void* scratch = nullptr;  // conv_pixels_scratch_bytes(), aligned to 64
};

// One group; or as many as channels in and out, a multiple of 16, with kernels 3, 5 or 7 wide,
// strides 1 and 2 and no dilation along the width.
bool conv_pixels_fits(const ConvShape&);

void conv_pixels(const PixelConvArgs&, Pool&, Isa);
// `parts` are the channels of each.
size_t conv_pixels_scratch_bytes(const ConvShape&, std::span<const size_t> parts, int threads);

// w is [out_channels][in_channels / groups][kernel...].
size_t conv_pixels_packed_size(const ConvShape&);
void conv_pixels_pack(const ConvShape&, std::span<const size_t> parts, const float* w,
                      float* packed, Pool&);

// Output rows [row_begin, row_end) of one image, each channel by itself.
struct PixelDepthwise {
  const ConvShape* shape;
  const float* x;        // the image
  const float* weights;  // [tap][channel]
  const float* bias;     // or null
  float* y;              // the output image
  size_t row_begin, row_end;
};
SDX_DECLARE_ISAS(void conv_pixels_depthwise(const PixelDepthwise&);)

}  // namespace sdx
