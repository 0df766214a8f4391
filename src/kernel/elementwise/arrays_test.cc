#include "kernel/elementwise/arrays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace sdx {
namespace {

// Values where functions change their mind, then random bit patterns, then random values of
// ordinary size.
std::vector<float> inputs(size_t n, uint32_t seed) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x = {0.0f,
                          -0.0f,
                          inf,
                          -inf,
                          nan,
                          -nan,
                          1.0f,
                          -1.0f,
                          0.5f,
                          -0.5f,
                          1.5f,
                          2.5f,
                          -2.5f,
                          2.0f,
                          3.0f,
                          0x1p-149f,
                          -0x1p-149f,
                          0x1p-126f,
                          0x1.fffffep127f,
                          -0x1.fffffep127f,
                          88.7f,
                          -103.9f,
                          0x1p20f,
                          0x1p23f,
                          65519.0f,
                          65520.0f,
                          0x1p-25f,
                          0x1.8p-25f,
                          0x1p-14f,
                          1e30f,
                          -1e30f,
                          0.6f,
                          0.95f};
  x.push_back(std::bit_cast<float>(0x7f800001u));  // a signalling NaN
  std::mt19937 random(seed);
  std::normal_distribution<float> ordinary(0.0f, 4.0f);
  while (x.size() < n) {
    x.push_back(std::bit_cast<float>(uint32_t(random())));
    x.push_back(ordinary(random));
  }
  x.resize(n);
  return x;
}

testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) {
      return testing::AssertionFailure() << "element " << i << ": " << a[i] << " against " << b[i];
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult nans_are_canonical(const std::vector<float>& a) {
  for (float v : a) {
    if (v != v && std::bit_cast<uint32_t>(v) != 0x7fc00000) return testing::AssertionFailure();
  }
  return testing::AssertionSuccess();
}

// The same values, each among others of its magnitude, and all of ordinary size once more: a vector
// of such may be taken in another way than one of everything.
std::vector<float> sorted_inputs(size_t n, uint32_t seed) {
  std::vector<float> x = inputs(n, seed);
  std::sort(x.begin(), x.end(), [](float a, float b) {
    return (std::bit_cast<uint32_t>(a) & 0x7fffffff) < (std::bit_cast<uint32_t>(b) & 0x7fffffff);
  });
  std::mt19937 random(seed);
  for (const float size : {0.1f, 1.0f, 3.0f}) {
    std::normal_distribution<float> ordinary(0.0f, size);
    for (size_t i = 0; i < n / 4; ++i) x.push_back(ordinary(random));
  }
  return x;
}

TEST(Tile, every_unary_level_equals_the_scalar) {
  std::vector<float> x = inputs(20000, 1);
  const std::vector<float> sorted = sorted_inputs(20000, 1);
  x.insert(x.end(), sorted.begin(), sorted.end());
  for (int op = 0; op < kUnaryOps; ++op) {
    const UnaryOp name = UnaryOp(op);
    std::vector<float> expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) expected[i] = scalar_unary(name, x[i], 0.75f, 1.25f);
    EXPECT_TRUE(nans_are_canonical(expected)) << op_name(name);
    for (Isa isa : kAllIsas) {
      if (!isa_available(isa)) continue;
      std::vector<float> y(x.size());
      SDX_PICK(array_unary, isa)(name, x.data(), y.data(), x.size(), 0.75f, 1.25f);
      EXPECT_TRUE(same_bits(y, expected)) << op_name(name) << " " << isa_name(isa);
    }
  }
}

TEST(Tile, every_binary_level_equals_the_scalar) {
  const std::vector<float> special = inputs(40, 2);
  std::vector<float> a, b;
  for (float u : special) {
    for (float v : special) a.push_back(u), b.push_back(v);
  }
  const std::vector<float> more_a = inputs(5000, 3), more_b = inputs(5000, 4);
  a.insert(a.end(), more_a.begin(), more_a.end());
  b.insert(b.end(), more_b.rbegin(), more_b.rend());
  for (int op = 0; op < kBinaryOps; ++op) {
    const BinaryOp name = BinaryOp(op);
    std::vector<float> expected(a.size());
    for (size_t i = 0; i < a.size(); ++i) expected[i] = scalar_binary(name, a[i], b[i]);
    EXPECT_TRUE(nans_are_canonical(expected)) << op_name(name);
    for (Isa isa : kAllIsas) {
      if (!isa_available(isa)) continue;
      std::vector<float> y(a.size());
      SDX_PICK(array_binary, isa)(name, a.data(), 1, b.data(), 1, y.data(), a.size());
      EXPECT_TRUE(same_bits(y, expected)) << op_name(name) << " " << isa_name(isa);
    }
  }
}

TEST(Tile, every_length_and_stride_touches_its_elements_only) {
  const std::vector<float> a = inputs(64, 5), b = inputs(64, 6);
  for (Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    for (size_t n = 0; n <= 40; ++n) {
      // Exactly n floats, so that a sanitizer sees any step beyond them.
      const std::vector<float> u(a.begin(), a.begin() + n), v(b.end() - n, b.end());
      std::vector<float> y(n + 1, 7.0f);
      SDX_PICK(array_unary, isa)(UnaryOp::tanh, u.data(), y.data(), n, 0, 0);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(y[i]),
                  std::bit_cast<uint32_t>(scalar_unary(UnaryOp::tanh, u[i])));
      }
      EXPECT_EQ(y[n], 7.0f);
      for (int strides = 0; strides < 4 && n > 0; ++strides) {
        const size_t sa = strides & 1, sb = strides >> 1;
        SDX_PICK(array_binary, isa)(BinaryOp::sub, u.data(), sa, v.data(), sb, y.data(), n);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(std::bit_cast<uint32_t>(y[i]),
                    std::bit_cast<uint32_t>(scalar_binary(BinaryOp::sub, u[i * sa], v[i * sb])));
        }
        EXPECT_EQ(y[n], 7.0f);
      }
    }
  }
}

TEST(Tile, sums_follow_the_sixteen_lane_rule) {
  std::mt19937 random(7);
  std::normal_distribution<float> ordinary(0.0f, 100.0f);
  for (size_t n = 0; n <= 200; ++n) {
    std::vector<float> x(n);
    for (float& v : x) v = ordinary(random);
    float sum[16] = {}, squares[16] = {};
    for (size_t i = 0; i < n; ++i) {
      sum[i % 16] += x[i];
      squares[i % 16] += x[i] * x[i];
    }
    for (int step = 8; step > 0; step /= 2) {
      for (int j = 0; j < step; ++j) sum[j] += sum[j + step], squares[j] += squares[j + step];
    }
    float most = -std::numeric_limits<float>::infinity();
    for (float v : x) most = std::max(most, v);
    for (Isa isa : kAllIsas) {
      if (!isa_available(isa)) continue;
      EXPECT_EQ(SDX_PICK(array_sum, isa)(x.data(), n), sum[0]);
      EXPECT_EQ(SDX_PICK(array_sum_of_squares, isa)(x.data(), n), squares[0]);
      EXPECT_EQ(SDX_PICK(array_max, isa)(x.data(), n), most);
    }
  }
}

TEST(Tile, max_and_sum_of_nan_are_the_canonical_nan) {
  std::vector<float> x(37, 1.0f);
  x[20] = std::bit_cast<float>(0xffc12345u);
  for (Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    EXPECT_EQ(std::bit_cast<uint32_t>(SDX_PICK(array_max, isa)(x.data(), x.size())), 0x7fc00000u);
    EXPECT_EQ(std::bit_cast<uint32_t>(SDX_PICK(array_sum, isa)(x.data(), x.size())), 0x7fc00000u);
  }
}

TEST(Tile, every_half_widens_and_comes_back) {
  for (Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    std::vector<uint16_t> h(65536 + 5), back(h.size());
    for (size_t i = 0; i < h.size(); ++i) h[i] = uint16_t(i);
    std::vector<float> y(h.size());
    SDX_PICK(array_from_f16, isa)(h.data(), y.data(), h.size());
    SDX_PICK(array_to_f16, isa)(y.data(), back.data(), h.size());
    for (size_t i = 0; i < h.size(); ++i) {
      const int exponent = h[i] >> 10 & 31, fraction = h[i] & 1023;
      const bool nan = exponent == 31 && fraction != 0;
      ASSERT_EQ(back[i], nan ? 0x7e00 : h[i]);
      const double value = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? HUGE_VAL
                                            : std::ldexp(1024 + fraction, exponent - 25);
      if (nan) {
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), 0x7fc00000u);
      } else {
        ASSERT_EQ(y[i], h[i] >> 15 ? -value : value);
      }
    }
    SDX_PICK(array_from_bf16, isa)(h.data(), y.data(), h.size());
    SDX_PICK(array_to_bf16, isa)(y.data(), back.data(), h.size());
    for (size_t i = 0; i < h.size(); ++i) {
      const bool nan = (h[i] & 0x7fff) > 0x7f80;
      ASSERT_EQ(back[i], nan ? 0x7fc0 : h[i]);
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), nan ? 0x7fc00000u : uint32_t(h[i]) << 16);
    }
  }
}

// The nearest of the two halves around |x| by distance in double, the even one on a tie.
TEST(Tile, narrowing_rounds_to_nearest_even) {
  std::vector<float> x = inputs(300000, 8);
  std::mt19937 random(9);
  for (size_t i = 1000; i < x.size(); ++i) {  // exponents where halves live, and exact ties
    const uint32_t bits =
        uint32_t((102 + random() % 45) << 23 | (random() & 0x7fffff) | (random() & 1) << 31);
    x[i] = std::bit_cast<float>(i % 3 == 0 ? bits & ~0xfffu : bits);
  }
  std::vector<uint16_t> expected_f16(x.size()), expected_bf16(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]);
    const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
    const double magnitude = std::fabs(double(x[i]));
    int exponent;
    std::frexp(magnitude, &exponent);
    if (exponent < -13) exponent = -13;
    const double scaled = std::nearbyint(std::ldexp(magnitude, 11 - exponent));
    const double rounded = std::ldexp(scaled, exponent - 11);
    if (x[i] != x[i]) {
      expected_f16[i] = 0x7e00;
    } else if (rounded >= 65536.0) {
      expected_f16[i] = sign | 0x7c00;
    } else if (scaled < 1024) {
      expected_f16[i] = sign | uint16_t(scaled);
    } else {
      expected_f16[i] = sign | uint16_t(((exponent + 13) << 10) + int(scaled));
    }
    const uint32_t up =
        (bits & 0xffff) > 0x8000 || ((bits & 0xffff) == 0x8000 && (bits >> 16 & 1)) ? 1 : 0;
    expected_bf16[i] = x[i] != x[i] ? 0x7fc0 : uint16_t((bits >> 16) + up);
  }
  for (Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    std::vector<uint16_t> h(x.size());
    std::vector<float> wide(x.size()), rounded(x.size());
    SDX_PICK(array_to_f16, isa)(x.data(), h.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(h[i], expected_f16[i]) << isa_name(isa) << " " << x[i];
    SDX_PICK(array_from_f16, isa)(h.data(), wide.data(), x.size());
    SDX_PICK(array_unary, isa)(UnaryOp::round_to_f16, x.data(), rounded.data(), x.size(), 0, 0);
    EXPECT_TRUE(same_bits(rounded, wide));
    SDX_PICK(array_to_bf16, isa)(x.data(), h.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(h[i], expected_bf16[i]) << isa_name(isa) << " " << x[i];
    SDX_PICK(array_from_bf16, isa)(h.data(), wide.data(), x.size());
    SDX_PICK(array_unary, isa)(UnaryOp::round_to_bf16, x.data(), rounded.data(), x.size(), 0, 0);
    EXPECT_TRUE(same_bits(rounded, wide));
  }
}

TEST(Tile, zeros_and_halves_have_their_written_answers) {
  const auto bits = [](float v) { return std::bit_cast<uint32_t>(v); };
  EXPECT_EQ(bits(scalar_unary(UnaryOp::relu, -0.0f)), bits(0.0f));
  EXPECT_EQ(bits(scalar_unary(UnaryOp::sign, -0.0f)), bits(0.0f));
  EXPECT_EQ(bits(scalar_unary(UnaryOp::round, -0.5f)), bits(-0.0f));
  EXPECT_EQ(scalar_unary(UnaryOp::round, 2.5f), 2.0f);
  EXPECT_EQ(bits(scalar_unary(UnaryOp::ceil, -0.5f)), bits(-0.0f));
  EXPECT_EQ(bits(scalar_binary(BinaryOp::max, -0.0f, 0.0f)), bits(0.0f));
  EXPECT_EQ(bits(scalar_binary(BinaryOp::max, 0.0f, -0.0f)), bits(0.0f));
  EXPECT_EQ(bits(scalar_binary(BinaryOp::min, 0.0f, -0.0f)), bits(-0.0f));
  EXPECT_EQ(scalar_unary(UnaryOp::floor, -1.5f), -2.0f);
  EXPECT_EQ(scalar_unary(UnaryOp::trunc, -1.5f), -1.0f);
  EXPECT_EQ(scalar_unary(UnaryOp::clip, 5.0f, -1.0f, 1.0f), 1.0f);
}

TEST(Tile, square_is_pow_two_to_the_bit) {
  for (float x : inputs(20000, 10)) {
    EXPECT_EQ(std::bit_cast<uint32_t>(scalar_binary(BinaryOp::pow, x, 2.0f)),
              std::bit_cast<uint32_t>(scalar_unary(UnaryOp::square, x)));
  }
}

TEST(Tile, remainders_equal_the_exact_ones) {
  const std::vector<float> a = inputs(20000, 11), b = inputs(20000, 12);
  for (size_t i = 0; i < a.size(); ++i) {
    const float u = a[i], v = b[b.size() - 1 - i];
    const float expected = std::fmod(u, v), got = scalar_binary(BinaryOp::fmod, u, v);
    if (expected != expected) {
      EXPECT_TRUE(got != got);
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
          << u << " mod " << v;
    }
  }
  EXPECT_EQ(scalar_binary(BinaryOp::floor_mod, -7.0f, 3.0f), 2.0f);
  EXPECT_EQ(scalar_binary(BinaryOp::floor_mod, 7.0f, -3.0f), -2.0f);
}

}  // namespace
}  // namespace sdx
