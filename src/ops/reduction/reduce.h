// What the reductions' attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Reduce {
  enum class How : uint8_t { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };
  How how;
  bool keep;
  bool dynamic;  // the axes are known at run time only
  bool noop;     // no axes given: none are reduced, instead of all
  std::vector<int64_t> axes;
};

}  // namespace sdx::ops
