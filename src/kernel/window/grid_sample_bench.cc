// Points per second of reading between the pixels of a plane of 16 x 20.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/window/grid_sample.h"

namespace sdx {
namespace {

const int linear = bench_levels("grid_sample_16x20", [](benchmark::State& state, Isa isa) {
  constexpr size_t kPoints = GridTaps::kMost;
  std::vector<float> x(16 * 20, 0.3f), grid(2 * kPoints), y(kPoints);
  for (size_t i = 0; i < grid.size(); ++i) grid[i] = float(i * 37 % 101) / 50 - 1;
  GridTaps rows, columns;
  for (auto _ : state) {
    SDX_PICK(grid_taps, isa)({20, true, false}, grid.data(), 2, kPoints, &columns);
    SDX_PICK(grid_taps, isa)({16, true, false}, grid.data() + 1, 2, kPoints, &rows);
    SDX_PICK(grid_blend, isa)
    ({x.data(), 1, 320, 20, kPoints, 0, y.data()}, rows, columns, kPoints);
  }
  report_elements(state, kPoints);
});

}  // namespace
}  // namespace sdx
