// Benchmarks of a kernel at every level that the machine has: name/portable, name/avx2 ...
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "kernel/isa_testing.h"

namespace sdx {

// run(state, isa) loops over the state. To initialise a static with.
template <class Run>
int bench_levels(const std::string& name, Run run) {
  for (const Isa isa : available_isas()) {
    benchmark::RegisterBenchmark((name + "/" + std::string(isa_name(isa))).c_str(),
                                 [run, isa](benchmark::State& state) { run(state, isa); });
  }
  return 0;
}

inline void report_elements(benchmark::State& state, size_t elements) {
  state.SetItemsProcessed(int64_t(state.iterations()) * int64_t(elements));
}

}  // namespace sdx
