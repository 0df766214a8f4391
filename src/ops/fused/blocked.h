// The operators on channels in blocks of 16, [N, ceil(C / 16), H, W, 16].
#pragma once

#include "op/op.h"

namespace sdx::ops {

extern const Op conv_blocked;
extern const Op conv_pair_blocked;
extern const Op to_blocked;
extern const Op from_blocked;

}  // namespace sdx::ops
