// Rates of products with 4-bit weights on one thread: one row, as in decoding, and many; with zero
// points of each block and without.
#include <vector>

#include "base/tensor.h"
#include "kernel/gemm_q4/gemm_q4.h"
#include "kernel/peak_bench.h"

namespace sdx {
namespace {

std::vector<uint8_t> uneven_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = uint8_t(i * 37);
  return bytes;
}

void gemm_q4_product(benchmark::State& state) {
  const size_t m = size_t(state.range(0)), n = size_t(state.range(1)), k = size_t(state.range(2));
  const std::vector<uint8_t> q(k * n / 2, 0x5a);
  const std::vector<float> scale(k / 32 * n, 0.1f), a(m * k, 0.5f);
  const std::vector<uint8_t> zero = uneven_bytes(state.range(3) != 0 ? k / 32 * n / 2 : 0);
  std::vector<float> c(m * n);
  Q4Source source;
  source.k = k, source.n = n, source.block = 32;
  source.q = q.data(), source.scale = scale.data();
  if (!zero.empty()) source.zero = zero.data();
  Pool pool(1);
  const auto packed = pack_q4(source, pool);
  const auto scratch = allocate_aligned(gemm_q4_scratch_bytes(m, k, n, 1) + 64);
  GemmQ4Args g;
  g.m = m, g.a = a.data(), g.b = packed.get(), g.c = c.data(), g.scratch = scratch.get();
  for (auto _ : state) gemm_q4(g, pool, native_isa());
  report_flops(state, 2.0 * double(m * n * k));
}
BENCHMARK(gemm_q4_product)
    ->ArgNames({"m", "n", "k", "zeros"})
    ->Args({1, 4096, 4096, 0})
    ->Args({1, 4096, 4096, 1})
    ->Args({1, 768, 768, 1})
    ->Args({4, 2048, 768, 0})
    ->Args({4, 2048, 768, 1})
    ->Args({128, 2048, 768, 1});

}  // namespace
}  // namespace sdx
