// The convolution of images whose channels come last, for the rewrite that makes it.
#pragma once

#include "op/op.h"

namespace sdx::ops {
extern const Op conv_last;
}
