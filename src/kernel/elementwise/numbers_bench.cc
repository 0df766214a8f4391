// Elements per second of the loops over integers and doubles, within the first cache, at each
// level.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernel/elementwise/numbers.h"

namespace sdx {
namespace {

constexpr size_t kElements = 1024;

void pairs(benchmark::State& state, PairLoop loop) {
  const std::vector<int64_t> a(kElements, 3), b(kElements, 5);
  std::vector<int64_t> y(kElements);
  for (auto _ : state) {
    loop(a.data(), 1, b.data(), 1, y.data(), kElements);
    benchmark::DoNotOptimize(y.data());
  }
  state.SetItemsProcessed(int64_t(state.iterations() * kElements));
}

void casts(benchmark::State& state, MapLoop loop) {
  const std::vector<int64_t> x(kElements, 3);
  std::vector<int64_t> y(kElements);
  for (auto _ : state) {
    loop(x.data(), y.data(), kElements);
    benchmark::DoNotOptimize(y.data());
  }
  state.SetItemsProcessed(int64_t(state.iterations() * kElements));
}

const int registered = [] {
  for (const Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    const std::string level = "/" + std::string(isa_name(isa));
    const auto pair = SDX_PICK(pair_loop, isa);
    const auto cast = SDX_PICK(cast_loop, isa);
    benchmark::RegisterBenchmark(("i64_mul" + level).c_str(), pairs,
                                 pair(NumberPair::mul, NumberType::i64));
    benchmark::RegisterBenchmark(("i64_less" + level).c_str(), pairs,
                                 pair(NumberPair::less, NumberType::i64));
    benchmark::RegisterBenchmark(("i32_div" + level).c_str(), pairs,
                                 pair(NumberPair::div, NumberType::i32));
    benchmark::RegisterBenchmark(("f32_to_i64" + level).c_str(), casts,
                                 cast(NumberType::f32, NumberType::i64));
    benchmark::RegisterBenchmark(("i64_to_f32" + level).c_str(), casts,
                                 cast(NumberType::i64, NumberType::f32));
  }
  return 0;
}();

}  // namespace
}  // namespace sdx
