// The last steps of every quantisation: the nearest integer, and the ends of the integer's range.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/dtype.h"

namespace sdx::ops {

// Rounds half to even. NaN is 0; magnitudes beyond 2^40 stay there, far outside every quantised
// type.
template <class Float>
int64_t to_nearest(Float x) {
  if (!(x == x)) return 0;
  constexpr Float kFar = Float(int64_t{1} << 40);
  return int64_t(std::nearbyint(std::clamp(x, -kFar, kFar)));
}

// The nearest value of an integer type of at most 32 bits.
inline int64_t saturate_to(DType type, int64_t x) {
  const int64_t values = int64_t{1} << bits(type);
  return is_signed(type) ? std::clamp(x, -values / 2, values / 2 - 1)
                         : std::clamp(x, int64_t{0}, values - 1);
}

}  // namespace sdx::ops
