// ClampRegisters: the bounds of a ClampEpilogue on a vector of sums.
#pragma once

#include "kernel/epilogue/epilogue.h"
#include "kernel/simd/registers.h"

namespace sdx::SDX_ISA {

struct ClampRegisters {
  bool bounded;
  F32 low, high;

  explicit ClampRegisters(const ClampEpilogue& f) : bounded(f.bounded), low(f.low), high(f.high) {}

  [[gnu::always_inline]] F32 operator()(F32 sum) const {
    if (!bounded) return lanes::canonical(sum);
    // Of two zeros the bound is taken; NaN comes back at the end.
    const F32 inside = min_raw(max_raw(sum, low), high);
    return select(lanes::is_nan(sum), lanes::nan<F32>(), inside);
  }
};

}  // namespace sdx::SDX_ISA
