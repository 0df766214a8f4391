// Outputs per second of pooling a plane of 112 x 112.
#include <vector>

#include "base/tensor.h"
#include "kernel/level_bench.h"
#include "kernel/window/pool_plane.h"

namespace sdx {
namespace {

const int max = bench_levels("max_pool_3x3_2", [](benchmark::State& state, Isa isa) {
  PoolShape s;
  for (const int i : {1, 2})
    s.in[i] = 112, s.out[i] = 56, s.kernel[i] = 3, s.stride[i] = 2, s.pad[i] = 1;
  const std::vector<float> x(112 * 112, 0.3f);
  std::vector<float> y(56 * 56);
  std::vector<size_t> taps(s.taps());
  find_taps(s, s.phase_step(), taps.data());
  std::vector<PhaseRows> phases(phase_count(s));
  find_phases(s, phases.data());
  const PoolWork work{&s, s.phase_step(), taps.data(), phases.data()};
  const auto staged = allocate_aligned(s.staged_size() * sizeof(float));
  for (auto _ : state) SDX_PICK(max_pool_planes, isa)
  (work, x.data(), y.data(), 1, static_cast<float*>(staged.get()));
  report_elements(state, y.size());
});

}  // namespace
}  // namespace sdx
