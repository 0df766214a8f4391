// Bytes per second of transposing matrices of floats in the second cache.
#include <algorithm>
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/turn/turn.h"

namespace sdx {
namespace {

const int floats = bench_levels("turn_floats", [](benchmark::State& state, Isa isa) {
  const TurnBlock block = turn_block(4, 256, 256);
  const size_t rows = std::min<size_t>(256, block.rows),
               columns = std::min<size_t>(256, block.columns);
  const std::vector<float> from(rows * columns, 0.5f);
  std::vector<float> to(rows * columns);
  const Turn t{reinterpret_cast<const char*>(from.data()),
               int64_t(rows * 4),
               reinterpret_cast<char*>(to.data()),
               int64_t(columns * 4),
               rows,
               columns,
               false};
  for (auto _ : state) SDX_PICK(turn, isa)(4, t);
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(rows * columns * 4));
});

}  // namespace
}  // namespace sdx
