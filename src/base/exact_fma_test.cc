#include "base/exact_fma.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace sdx {
namespace {

// NaNs are all alike.
void expect_equal(double a, double b, double c) {
  const double want = std::fma(a, b, c), got = exact_fma(a, b, c);
  if (std::isnan(want) && std::isnan(got)) return;
  EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want))
      << a << " * " << b << " + " << c;
}
void expect_equal(float a, float b, float c) {
  const float want = std::fma(a, b, c), got = exact_fma(a, b, c);
  if (std::isnan(want) && std::isnan(got)) return;
  EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want))
      << a << " * " << b << " + " << c;
}

TEST(ExactFma, RoundsOnce) {
  // Rounded twice, this is 1 + 2^-22.
  EXPECT_EQ(exact_fma(0x1p-12f * (1 + 0x1p-23f), 0x1p-12f * (1 - 0x1p-23f), 1 + 0x1p-23f),
            1 + 0x1p-23f);
}

TEST(ExactFma, SpecialValues) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double values[] = {0.,
                           -0.,
                           1.,
                           -1.,
                           kInf,
                           -kInf,
                           NAN,
                           0x1p-1074,
                           -0x1p-1074,
                           0x1p-1022,
                           0x1.fffffffffffffp1023,
                           -0x1.fffffffffffffp1023};
  for (const double a : values) {
    for (const double b : values) {
      for (const double c : values) {
        expect_equal(a, b, c);
        expect_equal(float(a), float(b), float(c));
      }
    }
  }
}

// The bits of any number, of one near 1, of one with few bits, and of a small one.
template <class Bits>
Bits drawn(std::mt19937_64& random, int kind, int mantissa, Bits bias) {
  const auto any = Bits(random());
  const Bits fraction = any & ((Bits(1) << mantissa) - 1);
  const Bits sign = any & (Bits(1) << (sizeof(Bits) * 8 - 1));
  if (kind == 0) return any;
  if (kind == 1) return sign | fraction | (bias - 30 + Bits(random() % 60)) << mantissa;
  if (kind == 2) return sign | Bits(3) << random() % (mantissa - 2) | bias << mantissa;
  return sign | fraction | Bits(random() % 60) << mantissa;
}

TEST(ExactFma, EqualsTheCLibrary) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i) {
    const auto wide = [&] {
      return std::bit_cast<double>(drawn<uint64_t>(random, int(random() % 4), 52, 1023));
    };
    const auto narrow = [&] {
      return std::bit_cast<float>(drawn<uint32_t>(random, int(random() % 4), 23, 127));
    };
    const double a = wide(), b = wide(), c = i % 4 == 0 ? -(a * b) : wide();
    expect_equal(a, b, c);
    const float x = narrow(), y = narrow(), z = i % 4 == 0 ? -(x * y) : narrow();
    expect_equal(x, y, z);
  }
}

}  // namespace
}  // namespace sdx
