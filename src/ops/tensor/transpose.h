// What Transpose's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Transpose {
  std::optional<std::vector<int64_t>> perm;  // absent: all axes reversed

  size_t axis(size_t i, size_t rank) const { return perm ? size_t((*perm)[i]) : rank - 1 - i; }
};

}  // namespace sdx::ops
