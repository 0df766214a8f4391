// Rates of benchmarks as percentages of the machine's peak.
#pragma once

#include <benchmark/benchmark.h>

#include "kernel/peak.h"

namespace sdx {

// Reports the rate of `flops` per iteration, and what part of the peak it is.
inline void report_flops(benchmark::State& state, double flops) {
  static const double peak = peak_gflops(native_isa());
  const double all = 1e-9 * flops * double(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["% of peak"] = benchmark::Counter(100 * all / peak, benchmark::Counter::kIsRate);
}

}  // namespace sdx
