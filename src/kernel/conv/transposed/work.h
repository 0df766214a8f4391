// What conv_transposed.cc asks of the code compiled per instruction-set level.
#pragma once

#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/isa.h"

namespace sdx {

inline constexpr size_t kTransposeRows = 4;  // output channels that run together

// Row (z, y) of the output planes of up to kTransposeRows channels.
struct TransposeRow {
  const float* x;     // the group's first input plane
  const float* w;     // [step of the reduction][kTransposeRows]
  const float* bias;  // of the first channel, or null
  size_t rows;
  size_t z, y;
  float* out;  // of the first channel; the others are a plane apart
};

SDX_DECLARE_ISAS(void conv_transposed_row(const ConvShape&, const TransposeRow&);)

}  // namespace sdx
