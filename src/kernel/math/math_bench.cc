// Calls per second of scalar functions; the same on arrays is in elementwise/arrays_bench.cc.
#include <benchmark/benchmark.h>

#include "kernel/math/math.h"

namespace sdx {
namespace {

template <class T, T (*kFunction)(T)>
void call(benchmark::State& state) {
  T x = T(0.1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kFunction(x));
    x = x < T(3) ? x + T(0.01) : T(0.1);
  }
  state.SetItemsProcessed(int64_t(state.iterations()));
}
BENCHMARK(call<float, math::exp>)->Name("exp_f32");
BENCHMARK(call<float, math::tanh>)->Name("tanh_f32");
BENCHMARK(call<double, math::exp>)->Name("exp_f64");
BENCHMARK(call<double, math::log>)->Name("log_f64");

}  // namespace
}  // namespace sdx
