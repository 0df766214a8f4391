// GFLOP/s of gemm on one thread, and what part of the core's peak they are.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernel/gemm/gemm.h"
#include "kernel/peak_bench.h"

namespace sdx {
namespace {

void gemm_packed(benchmark::State& state) {
  const size_t m = size_t(state.range(0)), n = size_t(state.range(1)), k = size_t(state.range(2));
  std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f), c(m * n), packed(gemm_packed_b_size(k, n));
  Pool pool(1);
  gemm_pack_b(b.data(), DType::f32, n, false, k, n, packed.data(), pool, native_isa());
  GemmArgs g;
  g.m = m, g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.b_packed = packed.data(), g.c = c.data(),
  g.ldc = n;
  std::vector<float> scratch(gemm_scratch_bytes(g, 1) / 4);
  g.scratch = scratch.data();
  for (auto _ : state) gemm(g, pool, native_isa());
  report_flops(state, 2.0 * double(m * n * k));
  state.counters["GB/s of B"] = benchmark::Counter(
      4e-9 * double(n * k) * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(gemm_packed)
    ->Args({128, 384, 384})
    ->Args({128, 1536, 384})
    ->Args({128, 384, 1536})
    ->Args({128, 768, 768})
    ->Args({128, 3072, 768})
    ->Args({128, 768, 3072})
    ->Args({512, 512, 512})
    ->Args({1024, 1024, 1024})
    ->Args({16, 768, 768})
    ->Args({4, 4096, 4096})
    ->Args({1, 4096, 4096});

// Both operands are activations: B is packed in the call. The batch is attention's heads.
void gemm_heads(benchmark::State& state) {
  const size_t batch = 12, m = size_t(state.range(0)), n = size_t(state.range(1)),
               k = size_t(state.range(2));
  std::vector<float> a(batch * m * k, 0.5f), b(batch * k * n, 0.25f), c(batch * m * n);
  Pool pool(1);
  GemmArgs g;
  g.m = m, g.n = n, g.k = k, g.batch = batch;
  g.a = a.data(), g.lda = k, g.a_batch = m * k;
  g.trans_b = state.range(3) != 0;
  g.b = b.data(), g.ldb = g.trans_b ? k : n, g.b_batch = k * n;
  g.c = c.data(), g.ldc = n, g.c_batch = m * n;
  std::vector<float> scratch(gemm_scratch_bytes(g, 1) / 4);
  g.scratch = scratch.data();
  for (auto _ : state) gemm(g, pool, native_isa());
  report_flops(state, 2.0 * double(batch * m * n * k));
}
BENCHMARK(gemm_heads)
    ->Args({128, 128, 64, 1})
    ->Args({128, 64, 128, 0})
    ->Args({512, 512, 64, 1})
    ->Args({1, 4096, 1024, 0})
    ->Args({1, 1024, 128, 1});

}  // namespace
}  // namespace sdx
