#include "kernel/peak.h"

#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {

// As many chains as cover the latency of the multiply-add on two pipes.
double run_multiply_adds(size_t steps, float* keep) {
  constexpr int kChains = 12;
  const Vec x = vec_load(keep), y = vec_load(keep + kLanes);
  Vec chain[kChains];
  unroll<kChains>([&](auto c) __attribute__((always_inline)) { chain[c.value] = x; });
  for (size_t i = 0; i < steps; ++i) {
    unroll<kChains>([&](auto c) __attribute__((always_inline)) {
      chain[c.value] = vec_fma(chain[c.value], x, y);
    });
  }
  Vec sum = vec_zero();
  unroll<kChains>([&](auto c)
                      __attribute__((always_inline)) { sum = vec_add(sum, chain[c.value]); });
  vec_store(keep, sum);
  return double(steps) * kChains * kLanes;
}

}  // namespace sdx::SDX_ISA
