#include "kernel/conv/planes/conv_planes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernel/conv/reference.h"
#include "kernel/conv/testing.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

void double_block(void*, float* c, size_t ldc, size_t, size_t, size_t rows, size_t cols) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < cols; ++j) c[r * ldc + j] += c[r * ldc + j];
  }
}

// Against the reference: every level, thread count, with and without bias and epilogue.
void expect_reference_bits(const ConvShape& s, unsigned seed, bool specials) {
  SCOPED_TRACE(describe(s));
  const auto x = random_floats(s.batch * s.in_channels * product(s.in), seed, specials);
  const auto w = random_floats(conv_planes_packed_size(s), seed + 1, specials);
  const auto bias = random_floats(s.out_channels, seed + 2, specials);
  std::vector<float> want(s.batch * s.out_channels * product(s.out)), got(want.size()),
      packed(w.size());
  for (bool with_bias : {false, true}) {
    reference::conv(s, x.data(), w.data(), with_bias ? bias.data() : nullptr, want.data());
    if (with_bias) {
      for (float& y : want) y += y;
    }
    for (const Isa isa : available_isas()) {
      for (int threads : {1, 2, 3}) {
        Pool pool(threads);
        conv_planes_pack(s, w.data(), packed.data(), pool);
        std::vector<float> scratch(conv_planes_scratch_bytes(s, threads) / sizeof(float), 7.f);
        std::fill(got.begin(), got.end(), 7.f);
        ConvArgs g{s,          x.data(), packed.data(), with_bias ? bias.data() : nullptr,
                   got.data(), {},       scratch.data()};
        if (with_bias) g.epilogue.fn = double_block;
        conv_planes(g, pool, isa);
        EXPECT_TRUE(same_bits(want, got))
            << isa_name(isa) << ", " << threads << " threads, bias " << with_bias;
        if (!conv_planes_reads_as_given(s)) continue;
        g.weights = nullptr;
        g.as_given = w.data();
        std::fill(got.begin(), got.end(), 7.f);
        conv_planes(g, pool, isa);
        EXPECT_TRUE(same_bits(want, got))
            << isa_name(isa) << ", " << threads << " threads, bias " << with_bias << ", as given";
      }
    }
  }
}

}  // namespace

TEST(Conv, equals_the_reference_on_the_usual_shapes) {
  for (bool specials : {false, true}) {
    expect_reference_bits(planar(1, 1, 3, 16, 23, 19, 7, 2, 3), 1, specials);
    expect_reference_bits(planar(1, 1, 20, 25, 14, 14, 3, 1, 1), 2, specials);
    expect_reference_bits(planar(2, 1, 70, 30, 7, 7, 3, 1, 1), 3, specials);
    expect_reference_bits(planar(1, 1, 40, 26, 9, 11, 1, 1, 0), 4, specials);
    expect_reference_bits(planar(1, 1, 17, 13, 15, 15, 1, 2, 0), 5, specials);
    expect_reference_bits(planar(1, 4, 32, 24, 10, 10, 3, 1, 1), 6, specials);
  }
}

TEST(Conv, outputs_that_run_beside_tiles_equal_the_reference) {
  unsigned seed = 1;
  for (const size_t width :
       {33, 34, 35, 36, 37, 38, 49, 50, 54, 68, 102}) {  // 1 to 6 are left over
    ++seed;
    const size_t out = 1 + seed * 7 % 40;
    expect_reference_bits(planar(1, 1, 9, out, 1, width, 1, 1, 0), seed, seed % 2 == 0);
    expect_reference_bits(planar(1, 1, 3, out, 3, width, 3, 1, 1), seed, seed % 2 == 0);
  }
  expect_reference_bits(planar(1, 1, 60, 26, 15, 15, 3, 1, 1), 1, false);  // in two stretches
  expect_reference_bits(planar(1, 1, 530, 40, 7, 7, 1, 1, 0), 2, true);
}

TEST(Conv, rows_read_in_place_equal_the_reference) {
  unsigned seed = 1;
  for (const size_t out : {7, 24, 90, 180, 230}) {      // row blocks: few, some, many
    for (const size_t side : {5, 9, 10, 12, 16, 32}) {  // and all distances of rows
      const size_t in = ++seed % 3 == 0 ? 20 : seed % 3 == 1 ? 3 : 150;
      expect_reference_bits(planar(1, 1, in, out, side, side, 1, 1, 0), seed, seed % 2 == 0);
    }
  }
  expect_reference_bits(planar(2, 3, 48, 60, 11, 13, 1, 1, 0), 1, true);
}

TEST(Conv, strides_over_all_columns_equal_the_reference) {
  unsigned seed = 1;
  for (const size_t stride : {2, 4, 8}) {
    for (const size_t width : {1, 15, 33, 64, 150}) {
      for (const size_t pad : {0, 1, 3, 4}) {
        const size_t kernel = stride + ++seed % 3;
        if (width + 2 * pad < kernel) continue;
        expect_reference_bits(planar(1, 1, 3, 5, kernel + 3, width, kernel, stride, pad), seed,
                              seed % 2 == 0);
      }
    }
  }
}

TEST(Conv, rows_of_the_padding_that_are_left_out_are_zeros) {
  unsigned seed = 1;
  for (const size_t width : {1, 5, 16, 17, 40}) {
    for (const size_t height : {1, 2, 9}) {
      for (const size_t stride : {1, 2}) {
        ConvShape s;
        s.in_channels = 5 + seed % 40;
        s.out_channels = 1 + seed * 7 % 30;
        s.in[1] = height, s.in[2] = width;
        s.kernel[1] = 3 + 4 * (seed % 2);
        s.pad[1] = s.kernel[1] / 2;
        s.stride[1] = stride;
        size_t pad_end[3] = {0, s.kernel[1] - 1 - s.pad[1], 0};
        expect_reference_bits(with_output(s, pad_end), seed, seed % 2 == 0);
        s.kernel[2] = width < 3 ? 1 : 3;
        s.dilation[1] = 1 + height / 9;
        s.pad[1] *= s.dilation[1], pad_end[1] *= s.dilation[1];
        expect_reference_bits(with_output(s, pad_end), seed, seed % 3 == 0);
        // Only behind the input, and in three dimensions.
        s.in[0] = 4, s.kernel[0] = 3, s.stride[0] = stride;
        s.pad[0] = seed % 3, pad_end[0] = 2;
        pad_end[1] += s.pad[1], s.pad[1] = 0;
        expect_reference_bits(with_output(s, pad_end), seed, seed % 2 == 0);
        ++seed;
      }
    }
  }
}

TEST(Conv, weights_that_few_outputs_meet_need_not_be_packed) {
  const ConvShape shapes[] = {planar(1, 1, 130, 449, 7, 7, 3, 1, 1),   // a last block of 2 channels
                              planar(1, 1, 1030, 520, 6, 9, 1, 1, 0),  // one tap
                              planar(1, 2, 150, 310, 22, 10, 5, 2, 2),  // groups, a stride
                              planar(1, 1, 1, 43700, 7, 9, 3, 1, 1)};
  for (unsigned seed = 1; const ConvShape& s : shapes) {
    EXPECT_EQ(conv_planes_reads_as_given(s), s.in_channels > 1) << describe(s);
    ++seed;
    if (s.in_channels > 1) expect_reference_bits(s, seed, seed % 2 == 0);
  }
  // Where rows of the padding are left out.
  ConvShape tall = planar(1, 1, 130, 1400, 7, 9, 1, 1, 0);
  tall.kernel[1] = 3, tall.pad[1] = 1;
  size_t pad_end[3] = {0, 1, 0};
  tall = with_output(tall, pad_end);
  EXPECT_TRUE(conv_planes_reads_as_given(tall));
  expect_reference_bits(tall, 7, true);
}

TEST(Conv, splits_long_reductions_without_changing_a_bit) {
  expect_reference_bits(planar(1, 1, 130, 14, 5, 6, 3, 1, 1), 1, false);
  expect_reference_bits(planar(1, 1, 1050, 5, 3, 3, 1, 1, 0), 2, false);
}

TEST(Conv, depthwise_equals_the_reference) {
  for (bool specials : {false, true}) {
    expect_reference_bits(planar(2, 6, 6, 6, 13, 70, 3, 1, 1), 1, specials);
    expect_reference_bits(planar(1, 5, 5, 10, 15, 15, 5, 2, 2), 2, specials);
    expect_reference_bits(planar(1, 4, 4, 4, 9, 9, 3, 3, 1), 3, specials);
    expect_reference_bits(planar(1, 1, 1, 3, 6, 40, 3, 1, 0), 4, specials);
    expect_reference_bits(planar(2, 1, 1, 37, 9, 33, 3, 2, 1), 5, specials);
    expect_reference_bits(planar(1, 3, 3, 60, 1, 90, 1, 5, 0), 6, specials);
  }
}

TEST(Conv, equals_the_reference_on_random_shapes_of_one_two_and_three_dimensions) {
  std::mt19937 rng(5);
  const auto pick = [&](size_t low, size_t high) { return low + rng() % (high - low + 1); };
  for (int round = 0; round < 24; ++round) {
    ConvShape s;
    s.batch = pick(1, 2);
    s.groups = pick(1, 3);
    s.in_channels = s.groups * pick(1, 21);
    s.out_channels = s.groups * pick(1, 15);
    size_t pad_end[3] = {};
    for (int i = int(pick(0, 2)); i < 3; ++i) {
      s.kernel[i] = pick(1, 3);
      s.stride[i] = pick(1, 3);
      s.dilation[i] = pick(1, 2);
      s.pad[i] = pick(0, 3);
      pad_end[i] = pick(0, 3);
      s.in[i] = pick(5, 9);
    }
    expect_reference_bits(with_output(s, pad_end), unsigned(round), round % 3 == 0);
  }
}

// Kernels of 3 x 3 so far apart that most taps lie in the padding.
ConvShape wide_apart(size_t groups, size_t in, size_t out, size_t height, size_t width,
                     size_t dilation) {
  ConvShape s = planar(1, groups, in, out, height, width, 3, 1, dilation);
  s.dilation[1] = s.dilation[2] = dilation;
  s.out[1] = height, s.out[2] = width;
  return s;
}

TEST(Conv, taps_that_are_mostly_in_the_padding_have_the_bits_of_the_rule) {
  for (bool specials : {false, true}) {
    expect_reference_bits(wide_apart(1, 20, 25, 9, 9, 5), 1, specials);
    expect_reference_bits(wide_apart(2, 70, 26, 7, 11, 8), 2, specials);
    expect_reference_bits(wide_apart(1, 33, 13, 6, 40, 12), 3, specials);
    expect_reference_bits(wide_apart(1, 5, 3, 6, 6, 20), 4, specials);
    ConvShape row = wide_apart(1, 40, 14, 1, 37, 24);
    row.kernel[1] = row.dilation[1] = 1, row.pad[1] = 0;
    expect_reference_bits(row, 5, specials);
  }
}

TEST(Conv, padding_ends_a_negative_zero) {
  // Products that underflow leave zeros of both signs; a positive weight over the padding makes +0
  // of -0, a negative one leaves it.
  const ConvShape s = wide_apart(1, 3, 5, 7, 9, 6);
  auto x = random_floats(3 * 7 * 9, 1, false), w = random_floats(5 * 3 * 9, 2, false);
  for (float& v : x) v *= 1e-30f;
  for (float& v : w) v *= 1e-30f;
  std::vector<float> want(5 * 7 * 9), got(want.size(), 7.f), packed(conv_planes_packed_size(s));
  reference::conv<float>(s, x.data(), w.data(), nullptr, want.data());
  EXPECT_TRUE(std::any_of(want.begin(), want.end(), [](float y) { return std::signbit(y); }));
  for (const Isa isa : available_isas()) {
    Pool pool(2);
    conv_planes_pack(s, w.data(), packed.data(), pool);
    std::vector<float> scratch(conv_planes_scratch_bytes(s, 2) / sizeof(float));
    conv_planes({s, x.data(), packed.data(), nullptr, got.data(), {}, scratch.data()}, pool, isa);
    EXPECT_TRUE(same_bits(want, got)) << isa_name(isa);
  }
}

TEST(Conv, narrow_depthwise_images_equal_the_reference) {
  unsigned seed = 1;
  for (const size_t size : {1, 2, 7, 14, 17, 28, 41}) {
    for (const size_t kernel : {1, 3, 5, 7}) {
      for (const size_t stride : {1, 2, 3}) {
        ++seed;
        expect_reference_bits(planar(1, 3, 3, 6, size, size, kernel, stride, kernel / 2), seed,
                              seed % 3 == 0);
      }
    }
  }
  for (const size_t size : {2, 7, 14, 17, 28}) {
    for (const size_t kernel : {3, 4, 5, 7}) {
      for (const size_t stride : {1, 2, 3}) {
        ++seed;
        expect_reference_bits(planar(2, 35, 35, 35, size, size + 1, kernel, stride, kernel / 2),
                              seed, seed % 3 == 0);
      }
    }
  }
  ConvShape dilated = planar(1, 48, 48, 48, 15, 15, 3, 1, 2);
  dilated.dilation[1] = dilated.dilation[2] = 2;
  dilated.out[1] = dilated.out[2] = 15;
  expect_reference_bits(dilated, 4, true);
  ConvShape s = planar(1, 3, 3, 3, 15, 15, 5, 1, 4);
  s.dilation[1] = s.dilation[2] = 2;
  s.out[1] = s.out[2] = 15;
  expect_reference_bits(s, 3, true);
}

TEST(Conv, what_runs_in_blocks_equals_the_reference) {
  for (const bool specials : {false, true}) {
    expect_reference_bits(planar(2, 1, 40, 32, 9, 11, 3, 1, 1), 1, specials);
    expect_reference_bits(planar(1, 1, 128, 31, 7, 7, 2, 1, 0), 2, specials);
    expect_reference_bits(planar(1, 2, 32, 64, 10, 9, 3, 2, 1), 3, specials);
    expect_reference_bits(planar(1, 1, 3, 48, 20, 24, 4, 4, 0), 4, specials);
    expect_reference_bits(planar(1, 1, 64, 16, 16, 16, 8, 8, 0), 5, specials);
  }
}

TEST(Conv, padding_is_a_zero_that_takes_part) {
  // An infinite weight over the padding gives 0 * inf: NaN in the outputs at the edge, and only
  // there.
  ConvShape s{1, 1, 1, 2, {1, 1, 4}, {1, 1, 4}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}};
  s.in_channels = 2;
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x(8, 1.f), w = {inf, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::vector<float> packed(w.size()), y(8);
  Pool pool(1);
  conv_planes_pack(s, w.data(), packed.data(), pool);
  std::vector<float> scratch(conv_planes_scratch_bytes(s, 1) / sizeof(float));
  conv_planes({s, x.data(), packed.data(), nullptr, y.data(), {}, scratch.data()}, pool,
              native_isa());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], inf);
  EXPECT_EQ(y[3], inf);
  EXPECT_EQ(y[4], 4.f);
}

}  // namespace sdx
