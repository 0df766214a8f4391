#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernel/gemm_int8/unit.h"

namespace sdx {
namespace {

struct Problem {
  Int8ChannelsLastShape shape;
  std::vector<uint8_t> x, other;
  std::vector<int8_t> w;
  std::vector<int32_t> bias;
  std::vector<float> ratio;
  AddBytes sum;
  bool y_signed, with_other;
  uint8_t x_zero;
  int32_t zero;
};

size_t pick(std::mt19937& random, std::initializer_list<size_t> from) {
  return from.begin()[random() % from.size()];
}

Problem problem(std::mt19937& random) {
  Problem p;
  Int8ChannelsLastShape& s = p.shape;
  s.batch = 1 + random() % 2;
  s.channels = pick(random, {1, 3, 4, 7, 16, 20, 64, 72, 128, 192});
  s.out_channels = pick(random, {1, 16, 40, 64, 70, 130, 192});
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = pick(random, {1, 1, 3, 2});
    s.dilation[i] = s.kernel[i] == 1 ? 1 : 1 + random() % 2;
    s.stride[i] = 1 + random() % 2;
    s.pad[i] = s.kernel[i] == 1 ? 0 : random() % 2;
    const size_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    s.in[i] = reach + random() % 22;
    s.out[i] = (s.in[i] + 2 * s.pad[i] - reach) / s.stride[i] + 1;
  }
  const auto fill = [&](auto& v, size_t n) {
    v.resize(n);
    for (auto& b : v) b = typename std::decay_t<decltype(v)>::value_type(random());
  };
  fill(p.x, s.batch * s.in[0] * s.in[1] * s.channels);
  // Mostly small bytes, whose products some machines add in 16 bits, up to different limits.
  if (const size_t most = pick(random, {256, 256, 64, 100, 128, 160}); most != 256) {
    for (uint8_t& x : p.x) x = random() % 200 == 0 ? uint8_t(255) : uint8_t(x % most);
  }
  fill(p.w, s.out_channels * s.channels * s.kernel[0] * s.kernel[1]);
  if (random() % 3 == 0) {
    for (int8_t& w : p.w) w = w < 0 ? -128 : 127;
  }
  fill(p.other, s.batch * s.out[0] * s.out[1] * s.out_channels);
  const bool tame = random() % 4 != 0;
  for (size_t o = 0; o < s.out_channels; ++o) {
    p.bias.push_back(int32_t(random() % 20001) - 10000);
    p.ratio.push_back(float(random() % 1000 + 1) * (tame ? 2e-6f : 1e3f));
  }
  p.y_signed = random() % 3 == 0;
  p.with_other = random() % 2 == 0;
  p.x_zero = uint8_t(random());
  p.zero = p.y_signed ? -5 : 100;
  const auto scale = [&] { return float(random() % 1000 + 100) * 1e-3f; };
  p.sum = {{scale(), scale(), scale()},
           {p.zero, p.y_signed ? 7 : 120, 3},
           random() % 2 == 0,
           p.y_signed};
  return p;
}

int saturated(float scaled, int zero, bool is_signed) {
  const float low = is_signed ? -128 : 0;
  const float v = std::nearbyint(std::fmin(std::fmax(scaled, -1000.0f), 1000.0f)) + float(zero);
  return int(std::fmin(std::fmax(v, low), low + 255));
}

// The formulas of the header, one output after the other.
std::vector<uint8_t> expected(const Problem& p) {
  const Int8ChannelsLastShape& s = p.shape;
  std::vector<uint8_t> y;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = 0; i < s.out[0] * s.out[1]; ++i) {
      for (size_t o = 0; o < s.out_channels; ++o) {
        int64_t sum = p.bias[o];
        for (size_t ky = 0; ky < s.kernel[0]; ++ky) {
          for (size_t kx = 0; kx < s.kernel[1]; ++kx) {
            const size_t iy = i / s.out[1] * s.stride[0] + ky * s.dilation[0] - s.pad[0];
            const size_t ix = i % s.out[1] * s.stride[1] + kx * s.dilation[1] - s.pad[1];
            if (iy >= s.in[0] || ix >= s.in[1]) continue;
            for (size_t c = 0; c < s.channels; ++c) {
              const int x = p.x[((n * s.in[0] + iy) * s.in[1] + ix) * s.channels + c];
              const int w = p.w[((o * s.channels + c) * s.kernel[0] + ky) * s.kernel[1] + kx];
              sum += (x - p.x_zero) * w;
            }
          }
        }
        int byte = saturated(float(int32_t(sum)) * p.ratio[o], p.zero, p.y_signed);
        if (p.with_other) {
          const uint8_t other = p.other[y.size()];
          const int second = p.y_signed ? int(int8_t(other)) : int(other);
          float both = float(byte - p.sum.zero[0]) * p.sum.scale[0] +
                       float(second - p.sum.zero[1]) * p.sum.scale[1];
          if (p.sum.relu && both < 0) both = 0;
          byte = saturated(both / p.sum.scale[2], p.sum.zero[2], p.y_signed);
        }
        y.push_back(uint8_t(byte));
      }
    }
  }
  return y;
}

void expect_exact(Isa isa, Int8Unit unit) {
  force_int8_unit(unit);
  ASSERT_EQ(int8_unit(isa), unit);
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    const Problem p = problem(random);
    const std::vector<uint8_t> want = expected(p);
    for (const int threads : {1, 3}) {
      Pool pool(threads);
      Int8ChannelsLastArgs c;
      c.shape = p.shape;
      c.x = p.x.data();
      c.x_zero = p.x_zero;
      std::vector<uint8_t> packed(conv_int8_channels_last_packed_bytes(c.shape)),
          scratch(conv_int8_channels_last_scratch_bytes(c.shape)), y(want.size());
      conv_int8_channels_last_pack(c.shape, p.w.data(), true, packed.data(), pool, isa);
      c.weights = packed.data();
      c.bias = p.bias.data();
      c.ratio = p.ratio.data();
      c.zero = p.zero;
      c.y_signed = p.y_signed;
      if (p.with_other) {
        c.other = p.other.data();
        c.sum = &p.sum;
      }
      c.y = y.data();
      c.scratch = scratch.data();
      conv_int8_channels_last(c, pool, isa);
      ASSERT_EQ(y, want) << isa_name(isa) << ", " << int8_unit_name(unit) << ", round " << round;
    }
  }
  force_int8_unit(Int8Unit::amx);
}

}  // namespace

TEST(ConvInt8ChannelsLast, is_exact_without_instructions_for_bytes) {
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) expect_exact(isa, Int8Unit::plain);
  }
}
TEST(ConvInt8ChannelsLast, is_exact_with_avx512_vnni) {
  if (!int8_unit_available(Int8Unit::avx512_vnni))
    GTEST_SKIP() << "this machine has no AVX512-VNNI";
  expect_exact(Isa::avx512, Int8Unit::avx512_vnni);
}
TEST(ConvInt8ChannelsLast, is_exact_with_avx_vnni) {
  if (!int8_unit_available(Int8Unit::avx_vnni)) GTEST_SKIP() << "this machine has no AVX-VNNI";
  expect_exact(Isa::avx2, Int8Unit::avx_vnni);
}
TEST(ConvInt8ChannelsLast, is_exact_with_instructions_of_arm64) {
  for (const Int8Unit unit : {Int8Unit::neon_dot, Int8Unit::neon_i8mm}) {
    if (int8_unit_available(unit)) expect_exact(Isa::neon, unit);
  }
}
TEST(ConvInt8ChannelsLast, is_exact_with_amx) {
  if (!int8_unit_available(Int8Unit::amx)) GTEST_SKIP() << "this machine has no AMX, or denies it";
  expect_exact(Isa::avx512, Int8Unit::amx);
}
// The same kernels, as far as a machine without their instructions can run them.
TEST(ConvInt8ChannelsLast, is_exact_with_stand_ins_for_other_machines) {
  if (!int8_unit_available(Int8Unit::avx_vnni_evex)) GTEST_SKIP() << "AVX512-VNNI stands in";
  expect_exact(Isa::avx2, Int8Unit::avx_vnni_evex);
  expect_exact(Isa::avx512, Int8Unit::amx_in_memory);
}

}  // namespace sdx
