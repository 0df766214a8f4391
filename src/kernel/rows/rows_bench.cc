// Elements per second of reductions and normalisations along rows.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/rows/rows.h"

namespace sdx {
namespace {

constexpr size_t kLength = 768;

const int sums = bench_levels("fold_sum", [](benchmark::State& state, Isa isa) {
  const std::vector<float> x(kLength, 0.3f);
  float lanes[kFoldLanes];
  for (auto _ : state) {
    SDX_PICK(fold_begin, isa)(Fold::sum, lanes);
    SDX_PICK(fold_take, isa)(Fold::sum, lanes, 0, x.data(), kLength);
    benchmark::DoNotOptimize(SDX_PICK(fold_end, isa)(Fold::sum, lanes));
  }
  report_elements(state, kLength);
});

const int softmax = bench_levels("log_softmax_row", [](benchmark::State& state, Isa isa) {
  const std::vector<float> x(kLength, 0.3f);
  std::vector<float> y(kLength);
  for (auto _ : state) SDX_PICK(log_softmax_row, isa)(x.data(), y.data(), kLength);
  report_elements(state, kLength);
});

const int norm = bench_levels("normalize_row", [](benchmark::State& state, Isa isa) {
  const std::vector<float> x(kLength, 0.3f), scale(kLength, 2), bias(kLength, 1);
  std::vector<float> y(kLength);
  for (auto _ : state) {
    float mean, inv;
    SDX_PICK(moments, isa)(x.data(), kLength, 1e-5f, &mean, &inv);
    SDX_PICK(normalize_row, isa)
    (x.data(), y.data(), kLength, mean, inv, scale.data(), bias.data());
  }
  report_elements(state, kLength);
});

}  // namespace
}  // namespace sdx
