// conv_channels_last: two-dimensional convolutions of images whose channels come last,
// [batch][row][column][channel].
//
// The bits are those of conv_planes.h. A pixel's channels are what a vector holds: products of
// matrices before and after read and write such images where they lie.
#pragma once

#include <cstddef>
#include <span>

#include "kernel/conv/shape.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

// An image may come in parts: the first channels in one, the next in another.
struct ChannelsLastPart {
  const float* x = nullptr;  // [batch][row][column][channels]
  size_t channels = 0;       // of one part, or a multiple of 16
};

struct ChannelsLastConvArgs {
  ConvShape shape;  // as conv_channels_last_fits wants it
  std::span<const ChannelsLastPart> x;
  const float* weights = nullptr;  // what conv_channels_last_pack wrote
  const float* bias = nullptr;     // [out_channels], or null
  float* y = nullptr;
  // Rows are output positions, numbered through the batch; columns are output channels.
  BlockEpilogue epilogue;
  void* scratch = nullptr;  // conv_channels_last_scratch_bytes(), aligned to 64
};

// One group; or as many as channels in and out, a multiple of 16.
bool conv_channels_last_fits(const ConvShape&);

void conv_channels_last(const ChannelsLastConvArgs&, Pool&, Isa);
// `parts` are the channels of each.
size_t conv_channels_last_scratch_bytes(const ConvShape&, std::span<const size_t> parts,
                                        int threads);

// w is [out_channels][in_channels / groups][kernel...].
size_t conv_channels_last_packed_size(const ConvShape&);
void conv_channels_last_pack(const ConvShape&, std::span<const size_t> parts, const float* w,
                             float* packed, Pool&);

// Output rows [row_begin, row_end) of one image, each channel by itself.
struct ChannelsLastDepthwise {
  const ConvShape* shape;
  const float* x;        // the image
  const float* weights;  // [tap][channel]
  const float* bias;     // or null
  float* y;              // the output image
  size_t row_begin, row_end;
};

// Few rows of one signal, none of whose taps is padding: their inputs are read where they lie.
struct FewRows {
  static constexpr size_t kMostStretches = 64;

  size_t rows, columns, depth;
  const float* x;        // of the first row
  size_t x_row;          // floats from one row's inputs to the next's
  const float* weights;  // panels
  const float* bias;     // or null
  float* y;
  // The order of the reduction: stretches of inputs that lie side by side, from these places on.
  size_t stretches;
  size_t length[kMostStretches];
  ptrdiff_t begin[kMostStretches + 1];
};
SDX_DECLARE_ISAS(void conv_channels_last_depthwise(const ChannelsLastDepthwise&);
                 void conv_channels_last_few_rows(const FewRows&);)

}  // namespace sdx
