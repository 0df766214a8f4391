// What Einsum's equation means.
#pragma once

#include "op/op.h"

namespace sdx::ops {

// Labels are numbered: those of the output first, in its order, then the summed ones, in order of
// first occurrence. An ellipsis has become labels of its own.
struct Einsum {
  size_t labels = 0, outputs = 0;
  std::vector<std::vector<size_t>> terms;  // per input, the label of each axis
};

}  // namespace sdx::ops
