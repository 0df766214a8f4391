// Multiply-adds per second of the weighted sum of values for one query.
#include <vector>

#include "kernel/attention/values.h"
#include "kernel/level_bench.h"

namespace sdx {
namespace {

const int one_query = bench_levels("attention_values", [](benchmark::State& state, Isa isa) {
  constexpr size_t kKeys = 256, kSize = 64;
  const std::vector<float> p(kKeys, 0.01f), v(kKeys * kSize, 0.5f);
  std::vector<float> y(kSize);
  for (auto _ : state)
    SDX_PICK(attention_values, isa)(p.data(), 0, kKeys, v.data(), kSize, kSize, false, y.data());
  report_elements(state, kKeys * kSize);
});

}  // namespace
}  // namespace sdx
