// conv_int8_planes: convolutions of 8-bit inputs and weights of either sign with zero points, exact
// modulo 2^32.
//
// y = sum over the group's channels and the taps of (x - x_zero) * (w - w_zero); the padding counts
// as x_zero, so it adds 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/conv/planes/conv_planes.h"
#include "kernel/gemm_int8/gemm_int8.h"

namespace sdx {

struct ConvInt8Args {
  ConvShape shape;
  const void* x = nullptr;
  bool x_signed = false;
  int32_t x_zero = 0;                // in the range of x's type
  const int32_t* weights = nullptr;  // what conv_int8_planes_pack wrote for this w_signed
  bool w_signed = false;
  const int32_t* w_zero = nullptr;  // null is 0; step 0: one for all, 1: one per output channel
  size_t w_zero_step = 0;
  // Sums go to y, or as bytes to requantize.y where that is not null; its rows are output channels,
  // numbered anew for each item of the batch.
  int32_t* y = nullptr;
  Requantize requantize;
  BlockEpilogueInt32 epilogue;  // rows are output channels, numbered through the batch; columns are
                                // output positions
  void* scratch = nullptr;      // conv_int8_planes_scratch_bytes(), aligned to 64
};

void conv_int8_planes(const ConvInt8Args&, Pool&, Isa);
size_t conv_int8_planes_scratch_bytes(const ConvShape&, int threads);

// In elements of int32_t; w is [out_channels][in_channels / groups][kernel...].
size_t conv_int8_planes_packed_size(const ConvShape&);
void conv_int8_planes_pack(const ConvShape&, const void* w, bool w_signed, int32_t* packed, Pool&,
                           Isa);

}  // namespace sdx
