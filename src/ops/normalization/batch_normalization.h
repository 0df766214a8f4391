// What BatchNormalization's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct BatchNorm {
  float epsilon, momentum;
  bool training;
  bool spatial;  // false: a mean and a variance per element of a sample instead of per channel
  size_t outputs;
};

}  // namespace sdx::ops
