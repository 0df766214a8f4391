// conv_blocked: two-dimensional convolutions of tensors whose channels lie in blocks of 16:
// [batch][channel / 16][row][column][channel % 16].
//
// The bits are those of conv_planes.h. A vector holds output channels, so neither the size of a
// plane nor the padding leaves lanes empty, inputs are read in place, and what follows the chain (a
// bias, a residual, Relu, Clip) happens in registers. Lanes behind the last channel belong to
// channels whose weights and bias are 0.
#pragma once

#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

inline constexpr size_t kBlockLanes = 16;
inline size_t channel_blocks(size_t channels) { return (channels + kBlockLanes - 1) / kBlockLanes; }

struct BlockedConvArgs {
  ConvShape shape;                    // as conv_blocked_fits wants it
  bool plain = false;                 // x is [batch][in_channels][row][column] all the same
  const float* x = nullptr;           // channels in blocks
  const float* weights = nullptr;     // what conv_blocked_pack wrote
  bool bias = false;                  // the packed weights end with one
  const float* bias_apart = nullptr;  // or it is here, in whole blocks
  float* y = nullptr;                 // channels in blocks
  ClampEpilogue clamp;
  // In place of `clamp`: rows are blocks of output channels, numbered through the batch; columns
  // are positions times 16.
  BlockEpilogue epilogue;
  void* scratch = nullptr;  // conv_blocked_scratch_bytes(), aligned to 64
};

// One group, as many as channels in and out, some of whole blocks in and out, or of 4 or 8 channels
// in and out. `plain`: one group of fewer than 16 channels.
bool conv_blocked_fits(const ConvShape&, bool plain);

void conv_blocked(const BlockedConvArgs&, Pool&, Isa);
size_t conv_blocked_scratch_bytes(const ConvShape&, bool plain);

// The same where many taps lie in the padding (kernel/conv/stretches.h) and all weights are finite:
// these are left out, and nothing is copied. Fits if that is quicker.
bool conv_blocked_inside_fits(const ConvShape&, Isa);
void conv_blocked_inside(const BlockedConvArgs&, Pool&, Isa);
size_t conv_blocked_inside_scratch_bytes(const ConvShape&);

// A convolution of 1 x 1 and the depthwise one that reads it, a few rows and channels at a time:
// the wire between them stays in cache.
struct BlockedPairArgs {
  ConvShape first, second;  // as conv_blocked_pair_fits wants them
  const float* x = nullptr;
  const float *first_weights = nullptr, *second_weights = nullptr;  // from conv_blocked_pack
  bool first_bias = false, second_bias = false;
  // What follows the first: as in BlockedConvArgs, without other tensors; the epilogue's rows and
  // columns do not tell where a block lies.
  ClampEpilogue between;
  BlockEpilogue between_epilogue;
  float* y = nullptr;
  ClampEpilogue clamp;
  BlockEpilogue epilogue;
  void* scratch = nullptr;  // conv_blocked_pair_scratch_bytes(), aligned to 64
};
bool conv_blocked_pair_fits(const ConvShape& first, const ConvShape& second);
size_t conv_blocked_pair_scratch_bytes(const ConvShape& second, int threads);
void conv_blocked_pair(const BlockedPairArgs&, Pool&, Isa);

// w is [out_channels][in_channels / groups][kernel...], bias [out_channels] or null.
size_t conv_blocked_packed_size(const ConvShape&);
void conv_blocked_pack(const ConvShape&, const float* w, const float* bias, float* packed, Pool&);

// One image of `channels` planes into blocks, with zeros behind the last channel, and back.
void to_channel_blocks(const float* planes, size_t channels, size_t pixels, float* blocks, Pool&,
                       Isa);
void from_channel_blocks(const float* blocks, size_t channels, size_t pixels, float* planes, Pool&,
                         Isa);

}  // namespace sdx
