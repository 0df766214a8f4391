// What the attributes of GroupNormalization and InstanceNormalization mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct GroupNorm {
  int64_t groups;  // 0: one per channel
  float epsilon;
  bool per_group;  // scale and bias have one element per group instead of one per channel
};

}  // namespace sdx::ops
