// What Split's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Split {
  int64_t axis;
  size_t outputs;
  std::optional<std::vector<int64_t>>
      sizes;    // otherwise input 1; without either, parts of equal size
  bool uneven;  // the last of the equal parts may be smaller
};

}  // namespace sdx::ops
