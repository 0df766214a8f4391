#include "kernel/conv/transposed/conv_transposed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernel/conv/reference.h"
#include "kernel/conv/testing.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

void expect_reference_bits(const ConvShape& s, unsigned seed, bool specials) {
  SCOPED_TRACE(describe(s));
  const auto x = random_floats(s.batch * s.in_channels * product(s.in), seed, specials);
  const auto w = random_floats(s.in_channels * (s.out_channels / s.groups) * product(s.kernel),
                               seed + 1, specials);
  const auto bias = random_floats(s.out_channels, seed + 2, specials);
  std::vector<float> want(s.batch * s.out_channels * product(s.out)), got(want.size());
  std::vector<float> packed(conv_transposed_packed_size(s));
  for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
    reference::conv_transpose(s, x.data(), w.data(), b, want.data());
    for (const Isa isa : available_isas()) {
      for (int threads : {1, 2, 3}) {
        Pool pool(threads);
        conv_transposed_pack(s, w.data(), packed.data(), pool);
        std::fill(got.begin(), got.end(), 7.f);
        std::vector<float> scratch(conv_transposed_scratch_bytes(s, threads) / sizeof(float), 7.f);
        conv_transposed({s, x.data(), packed.data(), b, got.data(), {}, scratch.data()}, pool, isa);
        EXPECT_TRUE(same_bits(want, got)) << isa_name(isa) << ", " << threads << " threads";
      }
    }
  }
}

}  // namespace

TEST(ConvTranspose, equals_the_reference_on_random_shapes) {
  std::mt19937 rng(5);
  const auto pick = [&](size_t low, size_t high) { return low + rng() % (high - low + 1); };
  for (int round = 0; round < 24; ++round) {
    ConvShape s;
    s.batch = pick(1, 2);
    s.groups = pick(1, 3);
    s.in_channels = s.groups * pick(1, 21);
    s.out_channels = s.groups * pick(1, 27);
    for (int i = int(pick(0, 2)); i < 3; ++i) {
      s.kernel[i] = pick(1, 4);
      s.stride[i] = pick(1, 3);
      s.dilation[i] = pick(1, 2);
      s.in[i] = pick(1, i == 2 ? 40 : 5);
      const size_t full = (s.in[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1;
      s.pad[i] = pick(0, std::min<size_t>(full - 1, 3));
      s.out[i] = full - s.pad[i] + pick(0, 2);
    }
    expect_reference_bits(s, unsigned(round), round % 3 == 0);
  }
}

TEST(ConvTranspose, decoders_layers_equal_the_reference) {
  const auto layer = [](size_t in, size_t out, size_t side, size_t kernel, size_t stride,
                        size_t pad, size_t more) {
    const size_t after = (side - 1) * stride + kernel - 2 * pad + more;
    return ConvShape{1,
                     1,
                     in,
                     out,
                     {1, side, side},
                     {1, after, after},
                     {1, kernel, kernel},
                     {1, stride, stride},
                     {1, 1, 1},
                     {0, pad, pad}};
  };
  expect_reference_bits(layer(37, 26, 8, 4, 2, 1, 0), 1, true);
  expect_reference_bits(layer(20, 7, 5, 3, 2, 1, 1), 2, true);
  expect_reference_bits(layer(17, 13, 11, 5, 3, 0, 2), 3, false);
  expect_reference_bits(layer(600, 12, 3, 2, 2, 0, 0), 4, false);
}

TEST(ConvTranspose, outputs_without_inputs_are_the_bias) {
  // Stride 3, kernel 1: two of three outputs meet nothing.
  ConvShape s{1, 1, 1, 1, {1, 1, 2}, {1, 1, 6}, {1, 1, 1}, {1, 1, 3}, {1, 1, 1}, {0, 0, 0}};
  const float x[] = {2, 3}, w[] = {10}, bias[] = {0.5f};
  std::vector<float> packed(conv_transposed_packed_size(s)), y(6);
  Pool pool(1);
  conv_transposed_pack(s, w, packed.data(), pool);
  conv_transposed({s, x, packed.data(), bias, y.data(), {}, nullptr}, pool, native_isa());
  EXPECT_EQ(y, (std::vector<float>{20.5f, 0.5f, 0.5f, 30.5f, 0.5f, 0.5f}));
}

}  // namespace sdx
