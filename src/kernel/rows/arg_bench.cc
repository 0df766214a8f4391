// Elements per second of finding the greatest of a row of a thousand.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/rows/arg.h"

namespace sdx {
namespace {

const int row = bench_levels("arg_of_row", [](benchmark::State& state, Isa isa) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i * 37 % 1009);
  for (auto _ : state)
    benchmark::DoNotOptimize(SDX_PICK(arg_of_row, isa)({false, false}, x.data(), x.size()));
  report_elements(state, x.size());
});

}  // namespace
}  // namespace sdx
