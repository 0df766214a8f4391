// Elements per second of the softmax of a block of attention scores, in the first cache.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/softmax/softmax.h"

namespace sdx {
namespace {

const int rows = bench_levels("softmax_rows", [](benchmark::State& state, Isa isa) {
  constexpr size_t kRows = 12, kColumns = 512;
  std::vector<float> x(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 97) / 31;
  SoftmaxRows s;
  s.x = x.data(), s.ld = s.n = kColumns, s.rows = kRows;
  for (auto _ : state) SDX_PICK(softmax_rows, isa)(s);
  report_elements(state, x.size());
});

const int windows = bench_levels("softmax_windows_of_49", [](benchmark::State& state, Isa isa) {
  constexpr size_t kRows = 64, kColumns = 49;
  std::vector<float> x(kRows * kColumns), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 97) / 31;
  for (auto _ : state) SDX_PICK(softmax_apart, isa)(x.data(), y.data(), kRows, kColumns);
  report_elements(state, x.size());
});

}  // namespace
}  // namespace sdx
