// What ConvTranspose's attributes mean.
#pragma once

#include "ops/pool/window.h"

namespace sdx::ops {

struct ConvTranspose {
  Window window;
  int64_t group;
  std::vector<int64_t> output_padding;
  std::vector<int64_t> output_shape;  // spatial; empty: from the padding
  bool extra_first;  // an odd element of padding that output_shape implies goes to the beginning
};

}  // namespace sdx::ops
