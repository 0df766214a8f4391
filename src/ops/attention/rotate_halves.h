// The turning of heads' halves, for the rewrite that makes it.
#pragma once

#include "op/op.h"

namespace sdx::ops {

extern const Op rotate_halves;

struct RotateHalves {
  std::optional<float> scale;
};

}  // namespace sdx::ops
