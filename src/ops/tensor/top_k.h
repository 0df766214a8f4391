// What TopK's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct TopK {
  int64_t axis;
  std::optional<std::vector<int64_t>> k;  // otherwise input 1
  bool largest;
};

}  // namespace sdx::ops
