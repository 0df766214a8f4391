// What MaxPool's attributes mean.
#pragma once

#include "ops/pool/window.h"

namespace sdx::ops {

struct MaxPool {
  Window window;
  bool column_major;  // of Indices: the spatial axes counted from the first
  size_t outputs;
};

}  // namespace sdx::ops
