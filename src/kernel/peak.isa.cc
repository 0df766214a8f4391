#include "kernel/peak.h"

#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// As many chains as cover the latency of the multiply-add on two pipes.
double run_multiply_adds(size_t steps, float* keep) {
  constexpr int kChains = 12;
  const F32 x = F32::load(keep), y = F32::load(keep + kLanes);
  F32 chain[kChains];
  repeat<kChains>([&](int c) __attribute__((always_inline)) { chain[c] = x; });
  for (size_t i = 0; i < steps; ++i) {
    repeat<kChains>([&](int c) __attribute__((always_inline)) { chain[c] = fma(chain[c], x, y); });
  }
  F32 sum = F32(0.0f);
  repeat<kChains>([&](int c) __attribute__((always_inline)) { sum = sum + chain[c]; });
  sum.store(keep);
  return double(steps) * kChains * kLanes;
}

}  // namespace sdx::SDX_ISA
