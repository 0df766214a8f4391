// Elements per second of an element-wise program on blocks of a product that are in cache.
#include "kernel/epilogue/program.h"
#include "kernel/level_bench.h"

namespace sdx {
namespace {

const int gelu = bench_levels("bias_gelu", [](benchmark::State& state, Isa isa) {
  constexpr size_t kRows = 12, kColumns = 256;
  std::vector<float> c(kRows * kColumns, 0.5f), bias(kColumns, 0.25f);
  const std::vector<Dims> dims = {{int64_t(kRows), int64_t(kColumns)}, {int64_t(kColumns)}};
  const std::vector<View> views = {{DType::f32, dims[0], c.data(), c.size()},
                                   {DType::f32, dims[1], bias.data(), bias.size()}};
  const auto epilogue =
      EpilogueProgram::make(*Program::parse(2, {"add 0 1", "gelu 2"}), 0, dims, dims[0], 1);
  EpilogueCall call{&*epilogue, views, isa};
  const BlockEpilogue block = call.block();
  for (auto _ : state) block.fn(block.ctx, c.data(), kColumns, 0, 0, kRows, kColumns);
  report_elements(state, c.size());
});

}  // namespace
}  // namespace sdx
