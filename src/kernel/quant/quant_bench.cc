// Elements per second between floats and bytes.
#include <vector>

#include "kernel/level_bench.h"
#include "kernel/quant/quant.h"

namespace sdx {
namespace {

constexpr size_t kLength = 4096;

const int quantise = bench_levels("quantize_f32_8", [](benchmark::State& state, Isa isa) {
  std::vector<float> x(kLength);
  for (size_t i = 0; i < kLength; ++i) x[i] = float(i % 211) / 50;
  std::vector<uint8_t> y(kLength);
  const float scale = 0.02f;
  const uint8_t zero = 3;
  for (auto _ : state)
    SDX_PICK(quantize_f32_8, isa)(x.data(), y.data(), kLength, &scale, &zero, 0, false);
  report_elements(state, kLength);
});

const int dequantise = bench_levels("dequantize_8_f32", [](benchmark::State& state, Isa isa) {
  const std::vector<uint8_t> x(kLength, 77);
  std::vector<float> y(kLength);
  const float scale = 0.02f;
  const uint8_t zero = 3;
  for (auto _ : state)
    SDX_PICK(dequantize_8_f32, isa)(x.data(), y.data(), kLength, &scale, &zero, 0, false);
  report_elements(state, kLength);
});

}  // namespace
}  // namespace sdx
