// Random numbers per second.
#include <benchmark/benchmark.h>

#include "kernel/random/philox.h"

namespace sdx {
namespace {

template <double (Philox::*kDraw)(uint64_t) const>
void draw(benchmark::State& state) {
  const Philox philox(7);
  uint64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize((philox.*kDraw)(i++));
  state.SetItemsProcessed(int64_t(state.iterations()));
}
BENCHMARK(draw<&Philox::uniform>)->Name("uniform");
BENCHMARK(draw<&Philox::normal>)->Name("normal");

}  // namespace
}  // namespace sdx
