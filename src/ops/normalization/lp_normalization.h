// What LpNormalization's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct LpNorm {
  size_t axis;
  bool euclid;  // p = 2 instead of 1
};

}  // namespace sdx::ops
