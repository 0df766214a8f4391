// What Pad's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Pad {
  enum class Mode : uint8_t { constant, reflect, edge, wrap };
  Mode mode;
  std::optional<std::vector<int64_t>>
      pads;  // otherwise input 1; input 2 is the constant, input 3 the axes
  float value = 0;
};

}  // namespace sdx::ops
