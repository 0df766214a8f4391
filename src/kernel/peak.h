// What the machine can do at most, measured when asked for: the yardstick of profiles and
// benchmarks.
#pragma once

#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

// Floating-point operations per nanosecond of one core in single-precision fused multiply-adds on
// registers; a multiply-add counts as two.
double peak_gflops(Isa);

// Bytes read and written per nanosecond while the pool's threads copy an array larger than the
// caches.
double peak_gbytes(Pool&);

SDX_DECLARE_ISAS(
    // Runs `steps` rounds of independent multiply-adds and returns how many those were.
    double run_multiply_adds(size_t steps, float* keep);)

}  // namespace sdx
