// What Concat's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Concat {
  int64_t axis;
};

}  // namespace sdx::ops
