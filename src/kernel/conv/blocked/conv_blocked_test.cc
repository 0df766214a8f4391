#include "kernel/conv/blocked/conv_blocked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernel/conv/reference.h"
#include "kernel/conv/testing.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

std::vector<float> to_blocks(const std::vector<float>& planes, size_t batch, size_t channels,
                             size_t pixels, Isa isa) {
  const size_t image = channel_blocks(channels) * kBlockLanes * pixels;
  std::vector<float> blocks(batch * image, 7.f);
  Pool pool(1);
  for (size_t n = 0; n < batch; ++n) {
    to_channel_blocks(planes.data() + n * channels * pixels, channels, pixels,
                      blocks.data() + n * image, pool, isa);
  }
  return blocks;
}

std::vector<float> from_blocks(const std::vector<float>& blocks, size_t batch, size_t channels,
                               size_t pixels, Isa isa) {
  const size_t image = channel_blocks(channels) * kBlockLanes * pixels;
  std::vector<float> planes(batch * channels * pixels, 7.f);
  Pool pool(2);
  for (size_t n = 0; n < batch; ++n) {
    from_channel_blocks(blocks.data() + n * image, channels, pixels,
                        planes.data() + n * channels * pixels, pool, isa);
  }
  return planes;
}

void double_block(void*, float* c, size_t ldc, size_t, size_t, size_t rows, size_t cols) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < cols; ++j) c[r * ldc + j] += c[r * ldc + j];
  }
}

float canonical_sum(float a, float b) {
  const float sum = a + b;
  return sum != sum ? std::numeric_limits<float>::quiet_NaN() : sum;
}

// Four ways to end: plain; bias; bias, another tensor and a clamp; bias and an epilogue.
void expect_reference_bits(const ConvShape& s, unsigned seed, bool plain = false) {
  SCOPED_TRACE(describe(s));
  ASSERT_TRUE(conv_blocked_fits(s, plain));
  const size_t in_pixels = product(s.in), pixels = product(s.out);
  const size_t out_size = s.batch * s.out_channels * pixels;
  for (int end = 0; end < 4; ++end) {
    const bool specials = end % 2 == 1;
    const auto x = random_floats(s.batch * s.in_channels * in_pixels, seed, specials);
    const auto w = random_floats(s.out_channels * s.in_channels / s.groups * product(s.kernel),
                                 seed + 1, specials);
    const auto bias = random_floats(s.out_channels, seed + 2, specials);
    const auto other = random_floats(out_size, seed + 3, specials);
    std::vector<float> want(out_size);
    reference::conv(s, x.data(), w.data(), end == 0 ? nullptr : bias.data(), want.data());
    for (size_t i = 0; i < out_size; ++i) {
      if (end == 2) want[i] = canonical_sum(want[i], other[i]);
      if (end == 2 && want[i] == want[i]) want[i] = want[i] > 0 ? std::min(want[i], 6.f) : 0.f;
      if (end == 3) want[i] += want[i];
    }
    for (const Isa isa : available_isas()) {
      const auto blocked_x = plain ? x : to_blocks(x, s.batch, s.in_channels, in_pixels, isa);
      const auto blocked_other = to_blocks(other, s.batch, s.out_channels, pixels, isa);
      for (int threads : {1, 2, 3}) {
        Pool pool(threads);
        std::vector<float> packed(conv_blocked_packed_size(s), 7.f);
        conv_blocked_pack(s, w.data(), end == 0 ? nullptr : bias.data(), packed.data(), pool);
        std::vector<float> scratch(conv_blocked_scratch_bytes(s, plain) / sizeof(float), 7.f);
        std::vector<float> got(blocked_other.size(), 7.f);
        BlockedConvArgs g;
        g.shape = s;
        g.plain = plain;
        g.x = blocked_x.data();
        g.weights = packed.data();
        g.bias = end != 0;
        g.y = got.data();
        g.scratch = scratch.data();
        if (end == 2) g.clamp = {blocked_other.data(), true, 0.f, 6.f};
        if (end == 3) g.epilogue.fn = double_block;
        conv_blocked(g, pool, isa);
        EXPECT_TRUE(same_bits(want, from_blocks(got, s.batch, s.out_channels, pixels, isa)))
            << isa_name(isa) << ", " << threads << " threads, end " << end;
        if (plain || !conv_blocked_inside_fits(s, isa) ||
            !std::all_of(w.begin(), w.end(), [](float v) { return std::isfinite(v); })) {
          continue;
        }
        std::vector<float> less(conv_blocked_inside_scratch_bytes(s) / sizeof(float), 7.f);
        std::fill(got.begin(), got.end(), 7.f);
        g.scratch = less.data();
        conv_blocked_inside(g, pool, isa);
        EXPECT_TRUE(same_bits(want, from_blocks(got, s.batch, s.out_channels, pixels, isa)))
            << "inside, " << isa_name(isa) << ", " << threads << " threads, end " << end;
      }
    }
  }
}

ConvShape dilated(size_t in, size_t out, size_t rows, size_t width, size_t kernel, size_t stride,
                  size_t dilation, size_t pad) {
  ConvShape s = planar(1, 1, in, out, rows, width, kernel, stride, pad);
  const size_t size[3] = {1, rows, width};
  for (int i : {1, 2}) {
    s.dilation[i] = dilation;
    s.out[i] = (size[i] + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  }
  return s;
}

}  // namespace

TEST(ConvBlocked, planes_go_to_blocks_and_back) {
  for (const size_t channels : {1, 16, 35}) {
    for (const size_t pixels : {1, 15, 49}) {
      const auto planes = random_floats(2 * channels * pixels, 1, true);
      for (const Isa isa : available_isas()) {
        const auto blocks = to_blocks(planes, 2, channels, pixels, isa);
        EXPECT_TRUE(same_bits(planes, from_blocks(blocks, 2, channels, pixels, isa)));
      }
    }
  }
}

TEST(ConvBlocked, lanes_behind_the_last_channel_are_zeros) {
  const auto blocks = to_blocks({1, 2, 3, 4}, 1, 2, 2, native_isa());
  EXPECT_EQ(blocks[0], 1);
  EXPECT_EQ(blocks[1], 3);
  EXPECT_EQ(blocks[2], 0);
  EXPECT_EQ(blocks[31], 0);
}

TEST(ConvBlocked, one_tap_equals_the_reference) {
  expect_reference_bits(planar(1, 1, 32, 64, 7, 7, 1, 1, 0), 1);
  expect_reference_bits(planar(2, 1, 24, 40, 5, 9, 1, 1, 0), 2);
  expect_reference_bits(planar(1, 1, 17, 144, 1, 1, 1, 1, 0), 3);
  expect_reference_bits(planar(1, 1, 64, 33, 1, 1, 1, 1, 0), 4);
  expect_reference_bits(planar(1, 1, 16, 16, 14, 15, 1, 2, 0), 5);
}

TEST(ConvBlocked, chains_that_stop_and_go_on_equal_the_reference) {
  expect_reference_bits(planar(1, 1, 700, 20, 13, 14, 1, 1, 0), 1);
  expect_reference_bits(planar(1, 1, 100, 33, 9, 8, 3, 1, 1), 2);
  expect_reference_bits(planar(1, 1, 40, 16, 6, 31, 5, 2, 2), 3);
  expect_reference_bits(planar(1, 1, 130, 33, 7, 7, 3, 1, 1), 4);
}

TEST(ConvBlocked, tiles_in_several_groups_equal_the_reference) {
  expect_reference_bits(planar(1, 1, 1040, 65, 12, 13, 1, 1, 0), 1);
}

TEST(ConvBlocked, large_kernels_equal_the_reference) {
  expect_reference_bits(planar(1, 1, 16, 48, 9, 29, 3, 1, 1), 1);
  expect_reference_bits(planar(2, 1, 20, 20, 7, 7, 3, 1, 1), 2);
  expect_reference_bits(planar(1, 1, 33, 16, 11, 13, 3, 2, 1), 3);
  expect_reference_bits(planar(1, 1, 16, 16, 8, 8, 5, 2, 2), 4);
  expect_reference_bits(planar(1, 1, 32, 40, 16, 17, 4, 4, 0), 6);
  expect_reference_bits(planar(1, 1, 20, 16, 11, 11, 2, 3, 1), 7);
  ConvShape s = planar(1, 1, 16, 24, 12, 12, 3, 1, 2);
  s.dilation[1] = s.dilation[2] = 2;
  expect_reference_bits(with_output(s, s.pad), 5);
}

TEST(ConvBlocked, dilations_that_leave_the_image_equal_the_reference) {
  const ConvShape shapes[] = {
      dilated(17, 33, 11, 14, 3, 1, 12, 12), dilated(17, 33, 11, 14, 3, 2, 9, 9),
      dilated(16, 20, 9, 9, 3, 1, 5, 5),     dilated(16, 40, 8, 8, 2, 1, 6, 7),
      dilated(16, 16, 4, 4, 3, 1, 3, 7),
  };
  unsigned seed = 1;
  for (const ConvShape& s : shapes) {
    EXPECT_TRUE(conv_blocked_inside_fits(s, native_isa())) << describe(s);
    expect_reference_bits(s, seed++);
  }
  EXPECT_FALSE(conv_blocked_inside_fits(dilated(16, 16, 28, 28, 3, 1, 2, 2), native_isa()));
}

// Sums of products that underflow are -0, until a tap in the padding makes them +0.
TEST(ConvBlocked, a_negative_zero_that_the_padding_ends_is_found) {
  const ConvShape s = dilated(16, 32, 9, 9, 3, 1, 8, 8);
  ASSERT_TRUE(conv_blocked_inside_fits(s, native_isa()));
  std::vector<float> x(16 * 81, 1e-30f), w(32 * 16 * 9, -1e-30f), want(32 * 81);
  for (size_t i = 0; i < w.size(); i += 5) w[i] = 1e-30f;
  reference::conv<float>(s, x.data(), w.data(), nullptr, want.data());
  EXPECT_TRUE(std::any_of(want.begin(), want.end(), [](float v) { return std::signbit(v); }));
  EXPECT_FALSE(std::all_of(want.begin(), want.end(), [](float v) { return std::signbit(v); }));
  for (const Isa isa : available_isas()) {
    Pool pool(2);
    std::vector<float> packed(conv_blocked_packed_size(s)), got(32 * 81, 7.f);
    conv_blocked_pack(s, w.data(), nullptr, packed.data(), pool);
    std::vector<float> scratch(conv_blocked_inside_scratch_bytes(s) / sizeof(float));
    const auto blocked_x = to_blocks(x, 1, 16, 81, isa);
    BlockedConvArgs g;
    g.shape = s;
    g.x = blocked_x.data();
    g.weights = packed.data();
    g.y = got.data();
    g.scratch = scratch.data();
    conv_blocked_inside(g, pool, isa);
    EXPECT_TRUE(same_bits(want, from_blocks(got, 1, 32, 81, isa))) << isa_name(isa);
  }
}

TEST(ConvBlocked, planes_as_input_equal_the_reference) {
  expect_reference_bits(planar(1, 1, 3, 32, 16, 18, 3, 2, 1), 1, true);
  expect_reference_bits(planar(2, 1, 3, 20, 15, 15, 7, 2, 3), 2, true);
  expect_reference_bits(planar(1, 1, 1, 16, 5, 5, 3, 1, 0), 3, true);
  expect_reference_bits(planar(1, 1, 3, 32, 12, 17, 4, 4, 0), 4, true);
}

TEST(ConvBlocked, depthwise_equals_the_reference) {
  for (const size_t kernel : {3, 5, 7}) {
    for (const size_t stride : {1, 2}) {
      expect_reference_bits(planar(1, 24, 24, 24, 7, 7, kernel, stride, kernel / 2), 1);
      expect_reference_bits(planar(2, 16, 16, 16, 10, 33, kernel, stride, kernel / 2), 2);
    }
  }
  expect_reference_bits(planar(1, 16, 16, 16, 3, 3, 7, 1, 3), 3);
  ConvShape s = planar(1, 20, 20, 20, 12, 9, 3, 1, 0);
  s.dilation[1] = 2;
  s.pad[2] = 1;
  expect_reference_bits(with_output(s, s.pad), 4);
}

TEST(ConvBlocked, depthwise_of_any_width_stride_and_dilation_equals_the_reference) {
  for (const size_t kernel : {1, 2, 4, 9}) {
    expect_reference_bits(planar(1, 24, 24, 24, 9, 21, kernel, 1, kernel / 2), 1);
    expect_reference_bits(planar(1, 16, 16, 16, 10, 17, kernel, 3, kernel / 2), 2);
  }
  for (const size_t dilation : {2, 4, 12}) {
    for (const size_t stride : {1, 2}) {
      ConvShape s = planar(1, 20, 20, 20, 14, 15, 3, stride, dilation);
      s.dilation[1] = s.dilation[2] = dilation;
      expect_reference_bits(with_output(s, s.pad), 3);
    }
  }
}

TEST(ConvBlocked, groups_of_whole_blocks_equal_the_reference) {
  expect_reference_bits(planar(1, 2, 32, 64, 7, 9, 3, 1, 1), 1);
  expect_reference_bits(planar(2, 3, 48, 144, 5, 6, 1, 1, 0), 2);
  expect_reference_bits(planar(1, 2, 96, 32, 8, 31, 3, 2, 1), 3);
  expect_reference_bits(planar(1, 4, 64, 64, 1, 1, 1, 1, 0), 4);
  EXPECT_FALSE(conv_blocked_fits(planar(1, 4, 32, 64, 7, 7, 3, 1, 1), false));
  EXPECT_FALSE(conv_blocked_fits(planar(1, 4, 64, 32, 7, 7, 3, 1, 1), false));
}

TEST(ConvBlocked, narrow_groups_equal_the_reference) {
  for (const size_t width : {4, 8}) {
    expect_reference_bits(planar(1, 32 / width, 32, 32, 7, 7, 3, 1, 1), 1);
    expect_reference_bits(planar(2, 40 / width, 40, 40, 9, 5, 3, 2, 1), 2);
    expect_reference_bits(planar(1, 24 / width, 24, 24, 1, 1, 1, 1, 0), 3);
    expect_reference_bits(planar(1, 16 / width, 16, 16, 3, 33, 5, 1, 2), 4);
    expect_reference_bits(planar(1, 104 / width, 104, 104, 6, 4, 1, 1, 0), 5);
  }
  EXPECT_FALSE(conv_blocked_fits(planar(1, 16, 32, 32, 7, 7, 3, 1, 1), false));
  EXPECT_FALSE(conv_blocked_fits(planar(1, 4, 32, 16, 7, 7, 3, 1, 1), false));
}

}  // namespace sdx
