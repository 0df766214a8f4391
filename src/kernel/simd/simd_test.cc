// The operations that soft.h builds, against the C library's. The other levels are held to the same
// bits by tile_test.cc.
#define SDX_ISA portable
#define SDX_ISA_portable 1
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "kernel/simd/f32x16.h"

namespace sdx {
namespace {

uint32_t canonical_bits(float v) { return v != v ? 0x7fc00000u : std::bit_cast<uint32_t>(v); }

// Random bit patterns; every third is moved near the others so that sums cancel, fall on ties or
// into denormals.
struct Patterns {
  std::mt19937 random{1};
  float any() { return std::bit_cast<float>(uint32_t(random())); }
  float near(int exponent) {
    return std::bit_cast<float>(
        uint32_t(exponent << 23 | (random() & 0x7ff800) | (random() & 1) << 31));
  }
};

TEST(Simd, portable_fma_rounds_once) {
  Patterns patterns;
  for (int round = 0; round < 200000; ++round) {
    float a[16], b[16], c[16], y[16];
    for (int i = 0; i < 16; ++i) {
      const int ea = int(patterns.random() % 255), eb = int(patterns.random() % 255);
      a[i] = round % 3 == 0 ? patterns.any() : patterns.near(ea);
      b[i] = round % 3 == 0 ? patterns.any() : patterns.near(eb);
      const int ec = ea + eb - 127 + int(patterns.random() % 60) - 30;
      c[i] = round % 3 == 0 ? patterns.any() : patterns.near(ec < 0 ? 0 : ec > 255 ? 255 : ec);
      if (round % 3 == 1) c[i] = -(a[i] * b[i]);
    }
    portable::store(y, fma(portable::load(a), portable::load(b), portable::load(c)));
    for (int i = 0; i < 16; ++i) {
      const uint32_t expected = canonical_bits(std::fma(a[i], b[i], c[i]));
      ASSERT_EQ(canonical_bits(y[i]), expected)
          << std::hexfloat << a[i] << " " << b[i] << " " << c[i];
      ASSERT_EQ(canonical_bits(fma(one::F32(a[i]), one::F32(b[i]), one::F32(c[i])).v), expected);
    }
  }
}

TEST(Simd, portable_roundings_equal_the_c_library) {
  Patterns patterns;
  for (int i = 0; i < 2000000; ++i) {
    const float x = i % 2 ? patterns.any() : patterns.near(120 + int(patterns.random() % 35));
    const one::F32 v(x);
    ASSERT_EQ(canonical_bits(floor(v).v), canonical_bits(std::floor(x))) << x;
    ASSERT_EQ(canonical_bits(ceil(v).v), canonical_bits(std::ceil(x))) << x;
    ASSERT_EQ(canonical_bits(trunc(v).v), canonical_bits(std::trunc(x))) << x;
    ASSERT_EQ(canonical_bits(round_even(v).v), canonical_bits(std::nearbyint(x))) << x;
  }
}

TEST(Simd, partial_loads_fill_the_other_lanes) {
  const float x[3] = {1, 2, 3};
  float y[16];
  portable::store(y, portable::load_n(x, 3, 9.0f));
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], i < 3 ? x[i] : 9.0f);
}

}  // namespace
}  // namespace sdx
