// What QuantizeLinear's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Quantize {
  DType output;
  DType precision;  // of the division: f32, f64, f16 or bf16
  int64_t axis, block;
  bool saturate;  // of float8 outputs
};

}  // namespace sdx::ops
