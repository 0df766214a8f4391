// What Clip's attributes mean.
#pragma once

#include <optional>

#include "op/op.h"

namespace sdx::ops {

struct Clip {
  std::optional<float> low, high;  // attributes
};

}  // namespace sdx::ops
