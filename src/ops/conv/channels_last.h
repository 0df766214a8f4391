// Images whose channels come last, [batch, row, column, channel], and signals, [batch, row,
// channel]: the convolutions on them, for the operators that become one in this layout.
#pragma once

#include <algorithm>

#include "ops/common.h"

namespace sdx::ops {

extern const Op conv_channels_last;
extern const Op qlinear_conv_channels_last;

// Of four axes: [n, h, w, c] <-> [n, c, h, w].
inline Fact with_channels_first(const Fact& x) {
  if (!x.has_rank() || x.rank() < 3) return x;
  Shape shape = *x.shape;
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return Fact::tensor(x.type, std::move(shape));
}
inline Fact with_channels_last(const Fact& x) {
  if (!x.has_rank() || x.rank() != 4) return x;
  return Fact::tensor(x.type, Shape{x.dim(0), x.dim(2), x.dim(3), x.dim(1)});
}

}  // namespace sdx::ops
