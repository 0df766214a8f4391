// Units per second of recurrent cells.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/rnn/cell.h"

namespace sdx {
namespace {

constexpr size_t kHidden = 512, kBlocks = kHidden / kCellUnits;

const int lstm = bench_levels("lstm_cell", [](benchmark::State& state, Isa isa) {
  const std::vector<float> x(4 * kHidden, 0.3f), h(4 * kHidden, -0.2f), bias(4 * kHidden, 0.1f);
  std::vector<float> c(kHidden, 0.5f), next(kHidden);
  const LstmCell cell{{kHidden, 0, kBlocks},
                      x.data(),
                      h.data(),
                      bias.data(),
                      nullptr,
                      false,
                      1e30f,
                      c.data(),
                      next.data()};
  for (auto _ : state) SDX_PICK(lstm_cell, isa)(cell);
  report_elements(state, kHidden);
});

const int rnn = bench_levels("rnn_cell", [](benchmark::State& state, Isa isa) {
  const std::vector<float> x(kHidden, 0.3f), h(kHidden, -0.2f), bias(kHidden, 0.1f);
  std::vector<float> next(kHidden);
  const RnnCell cell{
      {kHidden, 0, kBlocks}, x.data(), h.data(), bias.data(), false, 1e30f, next.data()};
  for (auto _ : state) SDX_PICK(rnn_cell, isa)(cell);
  report_elements(state, kHidden);
});

}  // namespace
}  // namespace sdx
