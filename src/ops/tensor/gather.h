// What the attributes of Gather, GatherElements and GatherND mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Gather {
  int64_t axis;
};

}  // namespace sdx::ops
