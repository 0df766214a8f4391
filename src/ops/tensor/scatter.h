// What the attributes of Scatter, ScatterElements and ScatterND mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

enum class ScatterReduction { none, add, mul, max, min };

struct ScatterElements {
  int64_t axis;
  ScatterReduction reduction;
};

struct ScatterNd {
  ScatterReduction reduction;
};

}  // namespace sdx::ops
