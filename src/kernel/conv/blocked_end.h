// BlockedEnd: what happens to a vector of sums on its way to memory (Ending).
#pragma once

#include "kernel/conv/blocked.h"
#include "kernel/gemm/vec.h"
#include "kernel/simd/generic.h"
#include "kernel/simd/native.h"

namespace sdx::SDX_ISA {

static_assert(F32::kLanes == kLanes);

struct BlockedEnd {
  bool clamp;
  Vec low, high;

  explicit BlockedEnd(const Ending& f)
      : clamp(f.clamp), low(vec_set(f.low)), high(vec_set(f.high)) {}

  [[gnu::always_inline]] Vec operator()(Vec sum) const {
    if (!clamp) return vec_canonical(sum);
    // Of two zeros the bound is taken; NaN comes back at the end.
    const F32 x(sum);
    const F32 inside = min_raw(max_raw(x, F32(low)), F32(high));
    return (Vec)select(lanes::is_nan(x), lanes::nan<F32>(), inside).v;
  }
};

}  // namespace sdx::SDX_ISA
