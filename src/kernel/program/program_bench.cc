// Elements per second of an element-wise program: x * sigmoid(x) + bias, clipped.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/program/program.h"

namespace sdx {
namespace {

const int swish = bench_levels("swish_add_clip", [](benchmark::State& state, Isa isa) {
  const auto program = Program::parse(2, {"sigmoid 0", "mul 0 2", "add 3 1", "clip 4 -0.5 3"});
  constexpr size_t kLength = 4096;
  const std::vector<float> x(kLength, 0.7f);
  std::vector<float> y(kLength), scratch(program->scratch());
  const float bias = 0.25f;
  const float* in[] = {x.data(), &bias};
  const uint8_t stride[] = {1, 0};
  for (auto _ : state) program->run(in, stride, y.data(), kLength, scratch.data(), isa);
  report_elements(state, kLength);
});

}  // namespace
}  // namespace sdx
