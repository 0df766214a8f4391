// Giga-operations per second of 8-bit products on one thread.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernel/gemm_int8/gemm_int8.h"

namespace sdx {
namespace {

void gemm_int8_packed(benchmark::State& state) {
  const size_t m = size_t(state.range(0)), n = size_t(state.range(1)), k = size_t(state.range(2));
  std::vector<uint8_t> a(m * k, 3), b(k * n, 5);
  std::vector<int32_t> c(m * n), packed(gemm_int8_packed_b_size(k, n));
  Pool pool(1);
  gemm_int8_pack_b(b.data(), true, n, false, k, n, packed.data(), pool, native_isa());
  GemmInt8Args g;
  g.m = m, g.n = n, g.k = k, g.a = a.data(), g.lda = k, g.b_packed = packed.data(),
  g.b_signed = true;
  g.c = c.data(), g.ldc = n;
  std::vector<int32_t> scratch(gemm_int8_scratch_bytes(g, 1) / 4);
  g.scratch = scratch.data();
  for (auto _ : state) gemm_int8(g, pool, native_isa());
  state.counters["GOP/s"] = benchmark::Counter(
      2e-9 * double(m * n * k) * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(gemm_int8_packed)->Args({128, 768, 768})->Args({512, 512, 512})->Args({1, 4096, 4096});

}  // namespace
}  // namespace sdx
