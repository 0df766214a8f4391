// Steps of operators that round to a 16-bit type in between, as ONNX's definition by simpler
// operators does.
#pragma once

#include <algorithm>

#include "kernel/lanes.h"
#include "ops/common.h"

namespace sdx {

// x rounded to P.
template <class P>
Compute<P> rounded(Compute<P> x) {
  return load(store<P>(x));
}

// f(0) + ... + f(n - 1), by lanes, rounded to P. ONNX's published sums of bfloat16 are rounded
// after each addition, in order; so are these within 16 neighbours, whose sums then add up in
// float.
template <class P, class F>
Compute<P> rounded_sum(size_t n, F&& f) {
  using W = Compute<P>;
  if constexpr (std::is_same_v<P, BF16>) {
    constexpr size_t kBlock = 16;
    return rounded<P>(lane_sum<W>((n + kBlock - 1) / kBlock, [&](size_t block) {
      W sum = 0;
      const size_t end = std::min(n, (block + 1) * kBlock);
      for (size_t j = block * kBlock; j < end; ++j) sum = rounded<P>(sum + f(j));
      return sum;
    }));
  } else {
    return rounded<P>(lane_sum<W>(n, f));
  }
}

}  // namespace sdx
