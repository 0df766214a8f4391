// conv: convolutions of one, two or three spatial dimensions in NCHW, grouped, with a bias and an
// epilogue in cache.
//
// The meaning, to the bit (kernel/conv/reference.h): each output is one chain acc = fma(w, x, acc)
// from +0 over the group's input channels and the kernel's taps in the order (channel / 16, kd, kh,
// kw, channel % 16); a tap in the padding takes part with x = +0; then + bias, rounded on its own,
// and NaN made canonical.
#pragma once

#include <cstddef>

#include "kernel/gemm/finish.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

// Sizes and steps are for (depth, height, width); missing leading dimensions are 1 with stride and
// dilation 1, pad 0.
struct ConvShape {
  size_t batch = 1, groups = 1;
  size_t in_channels = 0, out_channels = 0;  // of all groups together
  size_t in[3] = {1, 1, 1};
  size_t out[3] = {1, 1,
                   1};  // positions beyond the input are padding, at the end as at the beginning
  size_t kernel[3] = {1, 1, 1};
  size_t stride[3] = {1, 1, 1};
  size_t dilation[3] = {1, 1, 1};
  size_t pad[3] = {0, 0, 0};  // at the beginning
};

struct ConvArgs {
  ConvShape shape;
  const float* x = nullptr;        // [batch][in_channels][in...]
  const float* weights = nullptr;  // what conv_pack_weights wrote
  const float* bias = nullptr;     // [out_channels], or null
  float* y = nullptr;              // [batch][out_channels][out...]
  // Rows are output channels, numbered through the batch; columns are output positions.
  Epilogue epilogue;
  void* scratch = nullptr;  // conv_scratch_bytes(), aligned to 64
};

void conv(const ConvArgs&, Pool&, Isa);
size_t conv_scratch_bytes(const ConvShape&, int threads);

// w is [out_channels][in_channels / groups][kernel...]; the packed form has as many elements, at
// every level the same.
size_t conv_packed_size(const ConvShape&);
void conv_pack_weights(const ConvShape&, const float* w, float* packed, Pool&);

}  // namespace sdx
