// The operators on channels in blocks of 16, [N, ceil(C / 16), H, W, 16].
#pragma once

#include "ops/pool/window.h"

namespace sdx::ops {

struct ConvBlocked {
  Window window;
  int64_t group;
  bool plain;  // X has rank 4: [N, C, H, W]
};

extern const Op conv_blocked;
extern const Op conv_pair_blocked;
extern const Op to_blocked;
extern const Op from_blocked;

}  // namespace sdx::ops
