// conv_transposed: transposed convolutions of one, two or three spatial dimensions in NCHW.
//
// The meaning, to the bit (kernel/conv/reference.h): input i meets output i * stride + k * dilation
// - pad at tap k; each output is one chain of fused multiply-adds from +0 over the inputs that it
// meets, in conv's order, then + bias.
#pragma once

#include <cstddef>

#include "kernel/conv/planes/conv_planes.h"

namespace sdx {

// `weights` is what conv_transposed_pack wrote. The epilogue gets rows of outputs.
void conv_transposed(const ConvArgs&, Pool&, Isa);

// w is [in_channels][out_channels / groups][kernel...].
size_t conv_transposed_packed_size(const ConvShape&);
void conv_transposed_pack(const ConvShape&, const float* w, float* packed, Pool&);
size_t conv_transposed_scratch_bytes(const ConvShape&, int threads);

}  // namespace sdx
