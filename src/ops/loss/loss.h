// What the losses' attributes mean.
#pragma once

#include <optional>

#include "op/op.h"

namespace sdx::ops {

struct Loss {
  enum class Reduction { none, sum, mean } reduction;
  std::optional<int64_t> ignored;
  bool softmax;  // SoftmaxCrossEntropyLoss: the scores are not yet log-probabilities
};

}  // namespace sdx::ops
