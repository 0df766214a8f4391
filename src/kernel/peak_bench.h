// The most multiply-adds that one core does, measured once per run of a benchmark: what a kernel's
// rate is a percentage of.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace sdx {

#if defined(__x86_64__)
typedef float PeakVector __attribute__((vector_size(64)));
[[gnu::target("avx512f")]] inline void peak_loop(PeakVector* acc, size_t steps) {
  PeakVector a = acc[0], b = acc[1], c = acc[2], d = acc[3], e = acc[4], f = acc[5], g = acc[6],
             h = acc[7], x = acc[8];
  for (size_t i = 0; i < steps; ++i) {
    asm volatile(
        "vfmadd231ps %8, %8, %0\n vfmadd231ps %8, %8, %1\n"
        "vfmadd231ps %8, %8, %2\n vfmadd231ps %8, %8, %3\n"
        "vfmadd231ps %8, %8, %4\n vfmadd231ps %8, %8, %5\n"
        "vfmadd231ps %8, %8, %6\n vfmadd231ps %8, %8, %7\n"
        : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h)
        : "v"(x));
  }
  acc[0] = a + b + c + d + e + f + g + h;
}

// In GFLOP/s; 0 without AVX-512.
inline double peak_gflops() {
  static const double peak = [] {
    if (!__builtin_cpu_supports("avx512f")) return 0.0;
    constexpr size_t kSteps = 1000000;
    alignas(64) PeakVector acc[9] = {};
    double best = 0;
    for (int round = 0; round < 20; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      peak_loop(acc, kSteps);
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      best = std::max(best, double(kSteps) * 8 * 32 / took.count());
    }
    return best;
  }();
  return peak;
}
#else
inline double peak_gflops() { return 0; }
#endif

// Reports the rate of `flops` per iteration, and what part of the peak it is.
inline void report_flops(benchmark::State& state, double flops) {
  const double all = 1e-9 * flops * double(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  if (peak_gflops() > 0) {
    state.counters["% of peak"] =
        benchmark::Counter(100 * all / peak_gflops(), benchmark::Counter::kIsRate);
  }
}

}  // namespace sdx
