// What Gemm's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Gemm {
  float alpha, beta;
  bool trans_a, trans_b;
};

}  // namespace sdx::ops
