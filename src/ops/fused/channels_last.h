// Images whose channels come last, [batch, row, column, channel]: what the bytes of quantised
// convolutions are laid out as.
#pragma once

#include "ops/common.h"

namespace sdx::ops {

// Two axes of four move: [n, h, w, c] <-> [n, c, h, w].
inline Fact channels_first(const Fact& x) {
  if (!x.has_rank() || x.rank() != 4) return x;
  return Fact::tensor(x.type, Shape{x.dim(0), x.dim(3), x.dim(1), x.dim(2)});
}
inline Fact channels_last(const Fact& x) {
  if (!x.has_rank() || x.rank() != 4) return x;
  return Fact::tensor(x.type, Shape{x.dim(0), x.dim(2), x.dim(3), x.dim(1)});
}

}  // namespace sdx::ops
