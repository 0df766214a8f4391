// conv_int8_depthwise: convolutions of bytes with one filter per channel, channels last, quantised
// again to bytes.
//
// What conv_int8_channels_last says of bytes, sums and results holds here too; `channels` and
// `out_channels` of the shape are equal, and output channel c reads input channel c alone. The taps
// of a pixel are found by pointers, those beyond the image at a row of x's zero point, so nothing
// is copied. Where the machine has the instruction that sums products of four bytes, four taps of a
// channel are one step of it; other machines of x86 take two taps at a step, in 16 bits.
#pragma once

#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"

namespace sdx {

inline constexpr size_t kDepthwiseMostTaps = 128;

// Whether the shape has a kernel here.
bool conv_int8_depthwise_fits(const Int8ChannelsLastShape&);
void conv_int8_depthwise(const Int8ChannelsLastArgs&, Pool&, Isa);
size_t conv_int8_depthwise_scratch_bytes(const Int8ChannelsLastShape&);

// w is [channels][kernel...]; unsigned weights with zero point 128 count as signed.
size_t conv_int8_depthwise_packed_bytes(const Int8ChannelsLastShape&);
void conv_int8_depthwise_pack(const Int8ChannelsLastShape&, const void* w, bool w_signed,
                              void* packed);

// Channels are taken in chunks. Within one, sums of four bytes come out in turned order, which
// makes bytes in their own order when they are packed: channel 16 a + 4 b + c is at 16 b + 4 a + c.
inline constexpr size_t kDepthwiseChunk = 64;
inline constexpr size_t turned(size_t channel) {
  return channel / 4 % 4 * 16 + channel / 16 * 4 + channel % 4;
}
// The same for sums of two words, of sixteen channels: 8 a + 4 b + c is at 8 b + 4 a + c.
inline constexpr size_t kDepthwiseSixteen = 16;
inline constexpr size_t turned_sixteen(size_t channel) {
  return channel / 4 % 2 * 8 + channel / 8 * 4 + channel % 4;
}

// One output pixel.
struct Int8DepthwisePixel {
  const uint8_t* const* taps;  // where the channels of each begin; four of a step are always there
  size_t count, steps;         // of taps, and of fours of them
  size_t channels;
  const int8_t* rows;                 // weights [chunk][tap][channel]
  const int8_t* quads;                // and [chunk][step][turned channel][4]
  const int16_t* pairs;               // and [sixteen][half a step][turned channel][2]
  const int32_t *add, *add_turned;    // bias and zero points, to whole chunks
  const float *ratio, *ratio_turned;  // the same
  int32_t zero;
  bool y_signed;
  Int8Unit unit;
  bool tame;  // no sum times its ratio leaves what an int32 holds
  uint8_t* y;
};
SDX_DECLARE_ISAS(void conv_int8_depthwise_pixel(const Int8DepthwisePixel&);)

}  // namespace sdx
