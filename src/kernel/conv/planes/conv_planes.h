// conv_planes: convolutions of one, two or three spatial dimensions in NCHW, grouped, with a bias
// and an epilogue in cache.
//
// The meaning, to the bit (kernel/conv/reference.h): each output is one chain acc = fma(w, x, acc)
// from +0 over the group's input channels and the kernel's taps in the order (channel / 16, kd, kh,
// kw, channel % 16); a tap in the padding takes part with x = +0; then + bias, rounded on its own,
// and NaN made canonical.
#pragma once

#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

struct ConvArgs {
  ConvShape shape;
  const float* x = nullptr;        // [batch][in_channels][in...]
  const float* weights = nullptr;  // what conv_planes_pack wrote, or null
  const float* bias = nullptr;     // [out_channels], or null
  float* y = nullptr;              // [batch][out_channels][out...]
  // Rows are output channels, numbered through the batch; columns are output positions.
  BlockEpilogue epilogue;
  void* scratch = nullptr;  // conv_planes_scratch_bytes(), aligned to 64
  // Without packed weights: those of the model, if they may stay so (conv_planes_reads_as_given).
  const float* as_given = nullptr;
};

void conv_planes(const ConvArgs&, Pool&, Isa);
size_t conv_planes_scratch_bytes(const ConvShape&, int threads);

// w is [out_channels][in_channels / groups][kernel...]; the packed form is the same at every level.
// Large weights that meet few outputs are packed about as fast on their way to each of them: they
// need not be packed before.
bool conv_planes_reads_as_given(const ConvShape&);
size_t conv_planes_packed_size(const ConvShape&);
void conv_planes_pack(const ConvShape&, const float* w, float* packed, Pool&);

}  // namespace sdx
