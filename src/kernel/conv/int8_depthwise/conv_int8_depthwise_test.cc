#include "kernel/conv/int8_depthwise/conv_int8_depthwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace sdx {
namespace {

struct Problem {
  Int8ChannelsLastShape shape;
  std::vector<uint8_t> x, w;
  std::vector<int32_t> bias;
  std::vector<float> ratio;
  bool w_signed = true, y_signed = false;
  uint8_t x_zero = 0;
  int32_t zero = 0;
};

size_t pick(std::mt19937& random, std::initializer_list<size_t> from) {
  return from.begin()[random() % from.size()];
}

Problem problem(std::mt19937& random) {
  Problem p;
  Int8ChannelsLastShape& s = p.shape;
  s.batch = 1 + random() % 2;
  s.channels = s.out_channels = pick(random, {1, 3, 16, 32, 63, 64, 65, 96, 144, 200});
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = pick(random, {1, 2, 3, 3, 5, 7});
    s.dilation[i] = 1 + random() % 2;
    s.stride[i] = 1 + random() % 2;
    s.pad[i] = random() % s.kernel[i];
    const size_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    s.in[i] = reach + random() % 9;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - reach) / s.stride[i] + 1;
  }
  const auto fill = [&](std::vector<uint8_t>& v, size_t n) {
    v.resize(n);
    for (uint8_t& b : v) b = uint8_t(random());
  };
  fill(p.x, s.batch * s.in[0] * s.in[1] * s.channels);
  fill(p.w, s.channels * s.kernel[0] * s.kernel[1]);
  const bool tame = random() % 4 != 0;
  for (size_t o = 0; o < s.channels; ++o) {
    p.bias.push_back(int32_t(random() % 20001) - 10000);
    p.ratio.push_back(float(random() % 1000 + 1) * (tame ? 1e-5f : 1e3f));
  }
  p.w_signed = random() % 2 == 0;
  p.y_signed = random() % 3 == 0;
  p.x_zero = uint8_t(random());
  p.zero = p.y_signed ? -5 : 100;
  return p;
}

// The formulas of the header, one output after the other.
std::vector<uint8_t> expected(const Problem& p) {
  const Int8ChannelsLastShape& s = p.shape;
  std::vector<uint8_t> y;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = 0; i < s.out[0] * s.out[1]; ++i) {
      for (size_t o = 0; o < s.channels; ++o) {
        int64_t sum = p.bias[o];
        for (size_t ky = 0; ky < s.kernel[0]; ++ky) {
          for (size_t kx = 0; kx < s.kernel[1]; ++kx) {
            const size_t iy = i / s.out[1] * s.stride[0] + ky * s.dilation[0] - s.pad[0];
            const size_t ix = i % s.out[1] * s.stride[1] + kx * s.dilation[1] - s.pad[1];
            if (iy >= s.in[0] || ix >= s.in[1]) continue;
            const int x = p.x[((n * s.in[0] + iy) * s.in[1] + ix) * s.channels + o];
            const uint8_t w = p.w[(o * s.kernel[0] + ky) * s.kernel[1] + kx];
            sum += (x - p.x_zero) * (p.w_signed ? int(int8_t(w)) : int(w) - 128);
          }
        }
        const float scaled = float(int32_t(sum)) * p.ratio[o], low = p.y_signed ? -128 : 0;
        const float v =
            std::nearbyint(std::fmin(std::fmax(scaled, -1000.0f), 1000.0f)) + float(p.zero);
        y.push_back(uint8_t(int(std::fmin(std::fmax(v, low), low + 255))));
      }
    }
  }
  return y;
}

void expect_exact(Isa isa, Int8Unit unit) {
  force_int8_unit(unit);
  ASSERT_EQ(int8_unit(isa), unit);
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const Problem p = problem(random);
    const std::vector<uint8_t> want = expected(p);
    for (const int threads : {1, 3}) {
      Pool pool(threads);
      Int8ChannelsLastArgs c;
      c.shape = p.shape;
      ASSERT_TRUE(conv_int8_depthwise_fits(c.shape));
      c.x = p.x.data();
      c.x_zero = p.x_zero;
      std::vector<uint8_t> packed(conv_int8_depthwise_packed_bytes(c.shape)),
          scratch(conv_int8_depthwise_scratch_bytes(c.shape)), y(want.size());
      conv_int8_depthwise_pack(c.shape, p.w.data(), p.w_signed, packed.data());
      c.weights = packed.data();
      c.bias = p.bias.data();
      c.ratio = p.ratio.data();
      c.zero = p.zero;
      c.y_signed = p.y_signed;
      c.y = y.data();
      c.scratch = scratch.data();
      conv_int8_depthwise(c, pool, isa);
      ASSERT_EQ(y, want) << isa_name(isa) << ", " << int8_unit_name(unit) << ", round " << round;
    }
  }
  force_int8_unit(Int8Unit::amx);
}

}  // namespace

TEST(ConvInt8Depthwise, is_exact_without_instructions_for_bytes) {
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) expect_exact(isa, Int8Unit::plain);
  }
}
TEST(ConvInt8Depthwise, is_exact_with_avx512_vnni) {
  if (!int8_unit_available(Int8Unit::avx512_vnni))
    GTEST_SKIP() << "this machine has no AVX512-VNNI";
  expect_exact(Isa::avx512, Int8Unit::avx512_vnni);
}

}  // namespace sdx
