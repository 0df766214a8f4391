// What MeanVarianceNormalization's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct MeanVariance {
  std::vector<bool> reduced;  // per axis
};

}  // namespace sdx::ops
