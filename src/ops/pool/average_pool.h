// What AveragePool's attributes mean.
#pragma once

#include "ops/pool/window.h"

namespace sdx::ops {

struct AveragePool {
  Window window;
  bool count_padding;
};

}  // namespace sdx::ops
