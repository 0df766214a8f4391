// ClampRegisters: the bounds of a ClampEpilogue on a vector of sums.
#pragma once

#include "kernel/epilogue/epilogue.h"
#include "kernel/simd/generic.h"
#include "kernel/simd/native.h"
#include "kernel/simd/vec.h"

namespace sdx::SDX_ISA {

static_assert(F32::kLanes == kLanes);

struct ClampRegisters {
  bool bounded;
  Vec low, high;

  explicit ClampRegisters(const ClampEpilogue& f)
      : bounded(f.bounded), low(vec_set(f.low)), high(vec_set(f.high)) {}

  [[gnu::always_inline]] Vec operator()(Vec sum) const {
    if (!bounded) return vec_canonical(sum);
    // Of two zeros the bound is taken; NaN comes back at the end.
    const F32 x(sum);
    const F32 inside = min_raw(max_raw(x, F32(low)), F32(high));
    return (Vec)select(lanes::is_nan(x), lanes::nan<F32>(), inside).v;
  }
};

}  // namespace sdx::SDX_ISA
