#include "kernel/conv/channels_last/conv_channels_last.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernel/conv/reference.h"
#include "kernel/conv/testing.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

// [batch][channel][pixel] -> [batch][pixel][channel], channels [first, end).
std::vector<float> last(const std::vector<float>& planes, const ConvShape& s, size_t channels,
                        size_t pixels, size_t first, size_t end) {
  std::vector<float> out;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t c = first; c < end; ++c) out.push_back(planes[(n * channels + c) * pixels + p]);
    }
  }
  return out;
}

void double_block(void* rows_seen, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                  size_t cols) {
  auto& seen = *static_cast<std::vector<int>*>(rows_seen);
  for (size_t r = 0; r < rows; ++r) {
    if (col == 0) seen[row + r] = 1;
    for (size_t j = 0; j < cols; ++j) c[r * ldc + j] += c[r * ldc + j];
  }
}

// `first`: channels of the first of two parts; 0: one part.
void expect_reference_bits(const ConvShape& s, unsigned seed, Isa isa, size_t first = 0) {
  SCOPED_TRACE(describe(s));
  ASSERT_TRUE(conv_channels_last_fits(s));
  const size_t pixels = product(s.out), in_pixels = product(s.in);
  for (const bool specials : {false, true}) {
    const auto x = random_floats(s.batch * s.in_channels * in_pixels, seed, specials);
    const auto w = random_floats(s.out_channels * s.in_channels / s.groups * product(s.kernel),
                                 seed + 1, specials);
    const auto bias = random_floats(s.out_channels, seed + 2, specials);
    std::vector<float> planes(s.batch * s.out_channels * pixels);
    reference::conv(s, x.data(), w.data(), specials ? nullptr : bias.data(), planes.data());
    auto want = last(planes, s, s.out_channels, pixels, 0, s.out_channels);
    for (float& v : want) v += specials ? 0 : v;

    const auto a = last(x, s, s.in_channels, in_pixels, 0, first == 0 ? s.in_channels : first);
    const auto b = last(x, s, s.in_channels, in_pixels, first, s.in_channels);
    const ChannelsLastPart parts[] = {{a.data(), first == 0 ? s.in_channels : first},
                                      {b.data(), s.in_channels - first}};
    const size_t channels[] = {parts[0].channels, parts[1].channels}, count = first == 0 ? 1 : 2;
    for (const int threads : {1, 3}) {
      Pool pool(threads);
      std::vector<float> packed(conv_channels_last_packed_size(s)), got(want.size(), 7.f);
      const auto sizes = std::span(channels).first(count);
      conv_channels_last_pack(s, sizes, w.data(), packed.data(), pool);
      std::vector<float> scratch(conv_channels_last_scratch_bytes(s, sizes, threads) / 4 + 16);
      std::vector<int> seen(s.batch * pixels);
      ChannelsLastConvArgs g;
      g.shape = s;
      g.x = std::span(parts).first(count);
      g.weights = packed.data();
      g.bias = specials ? nullptr : bias.data();
      g.y = got.data();
      if (!specials) g.epilogue = {&double_block, &seen};
      g.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) / 4 % 16;
      conv_channels_last(g, pool, isa);
      EXPECT_TRUE(same_bits(want, got)) << threads << " threads";
      for (const int row : seen) EXPECT_EQ(row, specials ? 0 : 1);
    }
  }
}

void at_every_level(void (*check)(Isa)) {
  for (const Isa isa : available_isas()) {
    check(isa);
  }
}

TEST(ConvChannelsLast, depthwise_has_the_reference_bits) {
  at_every_level([](Isa isa) {
    expect_reference_bits(planar(2, 16, 16, 16, 9, 20, 3, 1, 1), 1, isa);
    expect_reference_bits(planar(1, 32, 32, 32, 7, 7, 7, 1, 3), 2, isa);
    expect_reference_bits(planar(1, 16, 16, 16, 13, 31, 5, 2, 2), 3, isa);
    expect_reference_bits(planar(1, 48, 48, 48, 3, 28, 7, 1, 3), 4, isa);
    expect_reference_bits(planar(1, 16, 16, 16, 9, 20, 4, 3, 2), 5, isa);
    ConvShape s = planar(1, 32, 32, 32, 14, 15, 3, 1, 4);
    s.dilation[1] = s.dilation[2] = 4;
    expect_reference_bits(with_output(s, s.pad), 6, isa);
  });
}

TEST(ConvChannelsLast, dense_has_the_reference_bits) {
  at_every_level([](Isa isa) {
    expect_reference_bits(planar(2, 1, 16, 33, 9, 10, 2, 2, 0), 1, isa);
    expect_reference_bits(planar(1, 1, 35, 8, 11, 7, 3, 2, 1), 2, isa);
    expect_reference_bits(planar(2, 1, 40, 24, 6, 7, 1, 1, 0), 3, isa);
    expect_reference_bits(planar(1, 1, 48, 20, 16, 16, 8, 8, 0), 4, isa);
  });
}

// One axis: as many rows as given, of which some are padding.
ConvShape signal(size_t batch, size_t channels, size_t out_channels, size_t rows, size_t kernel,
                 size_t stride, size_t dilation, size_t pad) {
  ConvShape s;
  s.batch = batch;
  s.in_channels = channels;
  s.out_channels = out_channels;
  s.in[2] = rows;
  s.kernel[2] = kernel;
  s.stride[2] = stride;
  s.dilation[2] = dilation;
  s.pad[2] = pad;
  s.out[2] = (rows + pad - (kernel - 1) * dilation - 1) / stride + 1;
  return s;
}

TEST(ConvChannelsLast, signals_have_the_reference_bits) {
  at_every_level([](Isa isa) {
    expect_reference_bits(signal(1, 16, 64, 24, 3, 1, 8, 0), 1, isa);
    expect_reference_bits(signal(1, 16, 64, 10, 3, 1, 1, 0), 2, isa);
    expect_reference_bits(signal(2, 20, 33, 29, 5, 2, 3, 0), 3, isa);
    expect_reference_bits(signal(1, 5, 7, 9, 2, 1, 4, 0), 4, isa);
    expect_reference_bits(signal(3, 64, 16, 8, 1, 1, 1, 0), 5, isa);
    expect_reference_bits(signal(1, 33, 32, 1, 1, 1, 1, 0), 6, isa);
    expect_reference_bits(signal(1, 20, 16, 12, 3, 1, 2, 4), 7, isa);    // padded in front
    expect_reference_bits(signal(2, 16, 16, 300, 3, 1, 2, 0), 8, isa);   // no few rows
    expect_reference_bits(signal(1, 600, 40, 7, 2, 1, 1, 0), 9, isa);    // long ones
    expect_reference_bits(signal(1, 64, 70, 40, 20, 1, 1, 0), 10, isa);  // many stretches
  });
}

TEST(ConvChannelsLast, an_image_may_come_in_parts) {
  at_every_level([](Isa isa) {
    expect_reference_bits(planar(2, 1, 48, 33, 5, 6, 1, 1, 0), 1, isa, 16);
    expect_reference_bits(planar(1, 1, 48, 130, 1, 1, 1, 1, 0), 3, isa, 32);
    expect_reference_bits(planar(1, 1, 48, 9, 9, 9, 3, 1, 1), 2, isa, 32);
  });
}

}  // namespace
}  // namespace sdx
