// GFLOP/s of convolutions on one thread and their part of the peak: the layers of ResNet-50 and
// MobileNet.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernel/conv/blocked/conv_blocked.h"
#include "kernel/conv/int8_planes/conv_int8_planes.h"
#include "kernel/conv/planes/conv_planes.h"
#include "kernel/peak_bench.h"

namespace sdx {
namespace {

// Arguments: input channels, output channels, size of the square input, kernel, stride, groups.
ConvShape layer(const benchmark::State& state) {
  ConvShape s;
  s.in_channels = size_t(state.range(0));
  s.out_channels = size_t(state.range(1));
  s.groups = size_t(state.range(5));
  for (int i : {1, 2}) {
    s.in[i] = size_t(state.range(2));
    s.kernel[i] = size_t(state.range(3));
    s.stride[i] = size_t(state.range(4));
    s.pad[i] = s.kernel[i] / 2;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - s.kernel[i]) / s.stride[i] + 1;
  }
  return s;
}

void conv_layer(benchmark::State& state) {
  const ConvShape s = layer(state);
  const size_t pixels = s.out[1] * s.out[2];
  std::vector<float> x(s.in_channels * s.in[1] * s.in[2], 0.5f),
      w(s.out_channels * conv_depth(s), 0.25f), packed(conv_planes_packed_size(s));
  std::vector<float> y(s.out_channels * pixels), scratch(conv_planes_scratch_bytes(s, 1) / 4);
  Pool pool(1);
  conv_planes_pack(s, w.data(), packed.data(), pool);
  const ConvArgs g{s, x.data(), packed.data(), nullptr, y.data(), {}, scratch.data()};
  for (auto _ : state) conv_planes(g, pool, native_isa());
  report_flops(state, 2.0 * double(w.size()) * double(pixels));
}
BENCHMARK(conv_layer)
    ->Args({3, 64, 224, 7, 2, 1})
    ->Args({64, 64, 56, 3, 1, 1})
    ->Args({128, 128, 28, 3, 1, 1})
    ->Args({256, 256, 14, 3, 1, 1})
    ->Args({512, 512, 7, 3, 1, 1})
    ->Args({128, 128, 56, 3, 2, 1})
    ->Args({64, 256, 56, 1, 1, 1})
    ->Args({256, 64, 56, 1, 1, 1})
    ->Args({512, 128, 28, 1, 1, 1})
    ->Args({1024, 256, 14, 1, 1, 1})
    ->Args({2048, 512, 7, 1, 1, 1})
    ->Args({256, 512, 56, 1, 2, 1})
    ->Args({128, 128, 56, 3, 1, 32})
    ->Args({144, 144, 56, 3, 1, 144})
    ->Args({96, 96, 112, 3, 2, 96})
    ->Args({576, 576, 14, 3, 1, 576});

// As conv_layer, with channels in blocks of 16; three input channels are planes.
void conv_blocked_layer(benchmark::State& state) {
  const ConvShape s = layer(state);
  const bool plain = s.in_channels < kBlockLanes;
  const size_t pixels = s.out[1] * s.out[2], lanes = plain ? 1 : kBlockLanes;
  std::vector<float> x((s.in_channels + lanes - 1) / lanes * lanes * s.in[1] * s.in[2], 0.5f);
  std::vector<float> w(s.out_channels * conv_depth(s), 0.25f), packed(conv_blocked_packed_size(s));
  std::vector<float> y(channel_blocks(s.out_channels) * kBlockLanes * pixels);
  std::vector<float> scratch(conv_blocked_scratch_bytes(s, plain) / 4);
  Pool pool(1);
  conv_blocked_pack(s, w.data(), nullptr, packed.data(), pool);
  BlockedConvArgs g;
  g.shape = s, g.plain = plain, g.x = x.data(), g.weights = packed.data(), g.y = y.data();
  g.scratch = scratch.data();
  g.clamp = {nullptr, true, 0.f, 6.f};
  for (auto _ : state) conv_blocked(g, pool, native_isa());
  report_flops(state, 2.0 * double(w.size()) * double(pixels));
}
BENCHMARK(conv_blocked_layer)
    ->Args({3, 64, 224, 7, 2, 1})
    ->Args({3, 32, 224, 3, 2, 1})
    ->Args({64, 64, 56, 3, 1, 1})
    ->Args({128, 128, 28, 3, 1, 1})
    ->Args({256, 256, 14, 3, 1, 1})
    ->Args({512, 512, 7, 3, 1, 1})
    ->Args({128, 128, 56, 3, 2, 1})
    ->Args({64, 256, 56, 1, 1, 1})
    ->Args({256, 64, 56, 1, 1, 1})
    ->Args({512, 128, 28, 1, 1, 1})
    ->Args({1024, 256, 14, 1, 1, 1})
    ->Args({2048, 512, 7, 1, 1, 1})
    ->Args({256, 512, 56, 1, 2, 1})
    ->Args({16, 96, 112, 1, 1, 1})
    ->Args({144, 24, 56, 1, 1, 1})
    ->Args({960, 160, 7, 1, 1, 1})
    ->Args({320, 1280, 7, 1, 1, 1})
    ->Args({960, 240, 1, 1, 1, 1})
    ->Args({144, 144, 56, 3, 1, 144})
    ->Args({96, 96, 112, 3, 2, 96})
    ->Args({576, 576, 14, 3, 1, 576})
    ->Args({960, 960, 7, 3, 1, 960})
    ->Args({672, 672, 14, 5, 1, 672});

// As conv_layer, for 8-bit inputs and weights.
void conv_int8_layer(benchmark::State& state) {
  const ConvShape s = layer(state);
  const size_t pixels = s.out[1] * s.out[2];
  std::vector<uint8_t> x(s.in_channels * s.in[1] * s.in[2], 3),
      w(s.out_channels * conv_depth(s), 5);
  std::vector<int32_t> packed(conv_int8_planes_packed_size(s)), y(s.out_channels * pixels);
  std::vector<int32_t> scratch(conv_int8_planes_scratch_bytes(s, 1) / 4);
  Pool pool(1);
  conv_int8_planes_pack(s, w.data(), true, packed.data(), pool, native_isa());
  ConvInt8Args g;
  g.shape = s;
  g.x = x.data(), g.x_zero = 7, g.weights = packed.data(), g.w_signed = true, g.y = y.data(),
  g.scratch = scratch.data();
  for (auto _ : state) conv_int8_planes(g, pool, native_isa());
  state.counters["GOP/s"] =
      benchmark::Counter(2e-9 * double(w.size()) * double(pixels) * double(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(conv_int8_layer)
    ->Args({64, 64, 56, 3, 1, 1})
    ->Args({256, 256, 14, 3, 1, 1})
    ->Args({256, 64, 56, 1, 1, 1})
    ->Args({144, 144, 56, 3, 1, 144});

}  // namespace
}  // namespace sdx
