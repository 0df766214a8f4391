// Elements per second of the array kernels on tiles that stay in the first cache, at each level.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernel/elementwise/arrays.h"

namespace sdx {
namespace {

constexpr size_t kChunk = 2048;

// Numbers up to `most`, as they follow each other in a model.
void unary(benchmark::State& state, UnaryOp op, Isa isa, float most) {
  std::vector<float> x(kChunk), y(kChunk);
  for (size_t i = 0; i < kChunk; ++i) x[i] = (float(i * 389 % kChunk) / kChunk * 2 - 1) * most;
  const auto kernel = SDX_PICK(array_unary, isa);
  for (auto _ : state) {
    kernel(op, x.data(), y.data(), kChunk, 1.0f, 1.0f);
    benchmark::DoNotOptimize(y.data());
  }
  state.SetItemsProcessed(int64_t(state.iterations() * kChunk));
}

const int registered = [] {
  for (Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    for (UnaryOp op : {UnaryOp::relu, UnaryOp::exp, UnaryOp::sigmoid, UnaryOp::tanh, UnaryOp::erf,
                       UnaryOp::gelu, UnaryOp::log, UnaryOp::sin, UnaryOp::softplus}) {
      const std::string name = std::string(op_name(op)) + "/" + std::string(isa_name(isa));
      benchmark::RegisterBenchmark(name.c_str(), unary, op, isa, 4.0f);
      benchmark::RegisterBenchmark((name + "/far").c_str(), unary, op, isa, 60.0f);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace sdx
