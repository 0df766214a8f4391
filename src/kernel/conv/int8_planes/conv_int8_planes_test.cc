#include "kernel/conv/int8_planes/conv_int8_planes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernel/conv/reference.h"
#include "kernel/conv/testing.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

int32_t value(uint8_t byte, bool is_signed) { return is_signed ? int8_t(byte) : byte; }

void expect_exact(const ConvShape& s, bool x_signed, bool w_signed, size_t w_step,
                  std::mt19937& rng) {
  SCOPED_TRACE(describe(s));
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  std::vector<uint8_t> x(s.batch * s.in_channels * product(s.in)),
      w(s.out_channels * in_group * product(s.kernel));
  for (uint8_t& b : x) b = uint8_t(rng());
  for (uint8_t& b : w) b = uint8_t(rng());
  const int32_t x_zero = value(uint8_t(rng()), x_signed);
  std::vector<int32_t> w_zero(s.out_channels);
  for (int32_t& z : w_zero) z = value(uint8_t(rng()), w_signed);

  std::vector<int32_t> want;
  reference::for_each_output(s, [&](size_t n, size_t o, size_t oz, size_t oy, size_t ox) {
    int32_t sum = 0;
    reference::for_each_tap(in_group, s.kernel, [&](size_t c, size_t kd, size_t kh, size_t kw) {
      const size_t iz = oz * s.stride[0] + kd * s.dilation[0] - s.pad[0];
      const size_t iy = oy * s.stride[1] + kh * s.dilation[1] - s.pad[1];
      const size_t ix = ox * s.stride[2] + kw * s.dilation[2] - s.pad[2];
      if (iz >= s.in[0] || iy >= s.in[1] || ix >= s.in[2]) return;
      const size_t channel = n * s.in_channels + o / out_group * in_group + c;
      const uint8_t a = x[((channel * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + ix];
      const uint8_t b =
          w[(((o * in_group + c) * s.kernel[0] + kd) * s.kernel[1] + kh) * s.kernel[2] + kw];
      sum += (value(a, x_signed) - x_zero) * (value(b, w_signed) - w_zero[o * w_step]);
    });
    want.push_back(sum);
  });

  std::vector<int32_t> bias(s.out_channels);
  std::vector<float> ratio(s.out_channels);
  for (int32_t& b : bias) b = int32_t(rng() % 20001) - 10000;
  for (float& r : ratio) r = float(1 + rng() % 100) * 0x1p-13f;
  std::vector<uint8_t> want_bytes, got_bytes(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t channel = i / product(s.out) % s.out_channels;
    const float scaled = float(want[i] + bias[channel]) * ratio[channel];
    const long low = x_signed ? -128 : 0;
    want_bytes.push_back(uint8_t(std::clamp(std::lrint(scaled) - 3, low, low + 255)));
  }

  std::vector<int32_t> packed(conv_int8_planes_packed_size(s)), got(want.size());
  for (const Isa isa : available_isas()) {
    for (int threads : {1, 2, 3}) {
      Pool pool(threads);
      conv_int8_planes_pack(s, w.data(), w_signed, packed.data(), pool, isa);
      std::vector<uint8_t> scratch(conv_int8_planes_scratch_bytes(s, threads) + 64);
      ConvInt8Args g;
      g.shape = s;
      g.x = x.data(), g.x_signed = x_signed, g.x_zero = x_zero;
      g.weights = packed.data(), g.w_signed = w_signed, g.w_zero = w_zero.data(),
      g.w_zero_step = w_step;
      g.y = got.data();
      g.scratch =
          reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
      std::fill(got.begin(), got.end(), 7);
      conv_int8_planes(g, pool, isa);
      EXPECT_EQ(want, got) << isa_name(isa) << ", " << threads << " threads";
      g.y = nullptr;
      g.requantize = {ratio.data(), bias.data(), -3, x_signed, got_bytes.data()};
      std::fill(got_bytes.begin(), got_bytes.end(), 7);
      conv_int8_planes(g, pool, isa);
      EXPECT_EQ(want_bytes, got_bytes) << isa_name(isa) << ", " << threads << " threads";
    }
  }
}

}  // namespace

TEST(ConvInt8, is_exact_for_every_sign_on_random_shapes) {
  std::mt19937 rng(5);
  const auto pick = [&](size_t low, size_t high) { return low + rng() % (high - low + 1); };
  for (int round = 0; round < 24; ++round) {
    ConvShape s;
    s.batch = pick(1, 2);
    s.groups = pick(1, 3);
    s.in_channels = s.groups * pick(1, 21);
    s.out_channels = s.groups * pick(1, 30);
    size_t pad_end[3] = {};
    for (int i = int(pick(0, 2)); i < 3; ++i) {
      s.kernel[i] = pick(1, 3);
      s.stride[i] = pick(1, 3);
      s.dilation[i] = pick(1, 2);
      s.pad[i] = pick(0, 3);
      pad_end[i] = pick(0, 3);
      s.in[i] = pick(5, 9);
    }
    expect_exact(with_output(s, pad_end), round & 1, round & 2, round & 4 ? 1 : 0, rng);
  }
}

TEST(ConvInt8, depthwise_is_exact) {
  std::mt19937 rng(6);
  for (int flags = 0; flags < 4; ++flags) {
    expect_exact(planar(2, 5, 5, 5, 11, 37, 3, 1, 1), flags & 1, flags & 2, 1, rng);
    expect_exact(planar(1, 4, 4, 8, 13, 13, 5, 2, 2), flags & 1, flags & 2, 0, rng);
  }
}

}  // namespace sdx
