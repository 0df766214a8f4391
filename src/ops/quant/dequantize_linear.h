// What DequantizeLinear's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Dequantize {
  DType output;
  int64_t axis, block;
};

}  // namespace sdx::ops
