// What the attributes of Softmax and LogSoftmax mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Softmax {
  size_t first, count;  // normalises over dims [first, first + count)
  bool log;             // LogSoftmax
};

}  // namespace sdx::ops
