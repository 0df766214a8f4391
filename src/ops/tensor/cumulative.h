// What the attributes of CumSum and CumProd mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Cumulative {
  bool product, exclusive, reverse;
};

}  // namespace sdx::ops
