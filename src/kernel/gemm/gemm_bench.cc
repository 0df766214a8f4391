// GFLOP/s of gemm on one thread, beside what the core can do at most (fma_peak).
#include <benchmark/benchmark.h>

#include <vector>

#include "kernel/gemm/gemm.h"

namespace sdx {
namespace {

#if defined(__x86_64__)
typedef float Wide __attribute__((vector_size(64)));
[[gnu::target("avx512f")]] void peak_loop(Wide* acc, size_t steps) {
  Wide a = acc[0], b = acc[1], c = acc[2], d = acc[3], e = acc[4], f = acc[5], g = acc[6],
       h = acc[7], x = acc[8];
  for (size_t i = 0; i < steps; ++i) {
    asm("vfmadd231ps %8, %8, %0\n vfmadd231ps %8, %8, %1\n"
        "vfmadd231ps %8, %8, %2\n vfmadd231ps %8, %8, %3\n"
        "vfmadd231ps %8, %8, %4\n vfmadd231ps %8, %8, %5\n"
        "vfmadd231ps %8, %8, %6\n vfmadd231ps %8, %8, %7\n"
        : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h)
        : "v"(x));
  }
  acc[0] = a + b + c + d + e + f + g + h;
}

void fma_peak(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx512f")) return state.SkipWithError("no AVX-512");
  alignas(64) Wide acc[9] = {};
  for (auto _ : state) peak_loop(acc, 10000);
  state.counters["GFLOP/s"] = benchmark::Counter(double(state.iterations()) * 10000 * 8 * 32 * 1e-9,
                                                 benchmark::Counter::kIsRate);
}
BENCHMARK(fma_peak);
#endif

void gemm_packed(benchmark::State& state) {
  const size_t m = size_t(state.range(0)), n = size_t(state.range(1)), k = size_t(state.range(2));
  std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f), c(m * n), packed(gemm_packed_b_size(k, n));
  Pool pool(1);
  gemm_pack_b(b.data(), DType::f32, n, false, k, n, packed.data(), pool);
  GemmArgs g;
  g.m = m, g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.b_packed = packed.data(), g.c = c.data(),
  g.ldc = n;
  std::vector<float> scratch(gemm_scratch_bytes(g, 1) / 4);
  g.scratch = scratch.data();
  for (auto _ : state) gemm(g, pool);
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * double(m * n * k) * double(state.iterations()), benchmark::Counter::kIsRate);
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
  for (auto _ : state) gemm(g, pool);
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * double(batch * m * n * k) * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(gemm_heads)
    ->Args({128, 128, 64, 1})
    ->Args({128, 64, 128, 0})
    ->Args({512, 512, 64, 1})
    ->Args({1, 4096, 1024, 0})
    ->Args({1, 1024, 128, 1});

}  // namespace
}  // namespace sdx
