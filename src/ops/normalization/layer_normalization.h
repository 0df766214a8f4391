// What the attributes of LayerNormalization and RMSNormalization mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct LayerNorm {
  size_t axis;  // normalises over dims [axis, rank)
  float epsilon;
  DType stash;  // of Mean and InvStdDev
  size_t outputs;
};

}  // namespace sdx::ops
