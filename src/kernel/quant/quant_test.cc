#include "kernel/quant/quant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/quant/map.h"
#include "kernel/random/philox.h"

namespace sdx {
namespace {

uint8_t divided(float x, float scale, uint8_t zero_byte, bool is_signed) {
  const float q = x / scale, zero = is_signed ? float(int8_t(zero_byte)) : float(zero_byte);
  if (!(q == q)) return zero_byte;
  const float far = std::fmin(std::fmax(q, -1000.0f), 1000.0f), low = is_signed ? -128.0f : 0.0f;
  return uint8_t(int(std::fmin(std::fmax(std::nearbyint(far) + zero, low), low + 255.0f)));
}

// Quotients at and next to half way between two integers are where an inexact quotient would show.
TEST(QuantizeF32To8, gives_the_quotient_s_nearest_integer) {
  const Philox random(5);
  std::vector<float> x;
  std::vector<uint8_t> y;
  for (size_t s = 0; s < 400; ++s) {
    const float scale = s < 390 ? std::exp2(float(random.uniform(s) * 20 - 12))
                                : std::ldexp(1.1f, int(s - 395) * 30);
    x.clear();
    for (const float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 1e-40f})
      x.push_back(special);
    for (int k = -300; k <= 300; ++k) {
      float at = (float(k) + 0.5f) * scale;
      for (int step = 0; step < 3; ++step) at = std::nextafterf(at, -INFINITY);
      for (int step = 0; step < 7; ++step, at = std::nextafterf(at, INFINITY)) x.push_back(at);
    }
    y.resize(x.size());
    for (const Isa isa : available_isas()) {
      const bool is_signed = s % 4 == 1;
      const uint8_t zero = is_signed ? uint8_t(-17) : 117;
      SDX_PICK(quantize_f32_8, isa)(x.data(), y.data(), x.size(), &scale, &zero, 0, is_signed);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], divided(x[i], scale, zero, is_signed)) << x[i] << " / " << scale;
    }
  }
}

// All pairs of bytes, at scales that make quotients at half way and sums that saturate.
TEST(AddBytes, has_the_bits_of_its_steps) {
  const Philox random(9);
  std::vector<uint8_t> a, b;
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) {
      a.push_back(uint8_t(i));
      b.push_back(uint8_t(j));
    }
  }
  a.resize(a.size() - 5);
  b.resize(a.size());
  std::vector<uint8_t> y(a.size());
  for (uint32_t round = 0; round < 12; ++round) {
    const auto scale = [&](uint32_t i) {
      return round < 3 ? float(i + 1) * 0.25f
                       : float(std::exp2(random.uniform(round * 3 + i) * 8 - 6));
    };
    AddBytes t{{scale(0), scale(1), scale(2)}, {3, 100, 17}, round % 2 == 0, round % 4 > 1};
    if (round == 5) t.scale[0] = -t.scale[0];
    if (t.is_signed) t.zero[1] = -100;
    ASSERT_TRUE(adds_bytes(t));
    for (const Isa isa : available_isas()) {
      SDX_PICK(add_bytes, isa)(t, a.data(), b.data(), y.data(), y.size());
      for (size_t i = 0; i < y.size(); ++i) {
        const auto value = [&](uint8_t x, int k) {
          return float((t.is_signed ? int(int8_t(x)) : int(x)) - t.zero[k]) * t.scale[k];
        };
        float sum = value(a[i], 0) + value(b[i], 1);
        if (t.relu && sum < 0) sum = 0;
        const int low = t.is_signed ? -128 : 0;
        const float nearest = std::nearbyint(sum / t.scale[2]) + float(t.zero[2]);
        const int expected = int(std::fmin(std::fmax(nearest, float(low)), float(low + 255)));
        ASSERT_EQ(t.is_signed ? int(int8_t(y[i])) : int(y[i]), expected)
            << isa_name(isa) << " round " << round << ": " << int(a[i]) << " " << int(b[i]);
      }
    }
  }
  EXPECT_FALSE(adds_bytes({{1, 1, 1e-30f}, {0, 0, 0}, false, false}));
  EXPECT_FALSE(adds_bytes({{1, NAN, 1}, {0, 0, 0}, false, false}));
}

TEST(RangeF32, holds_every_element_and_tells_of_nan) {
  const Philox random(3);
  for (const Isa isa : available_isas()) {
    for (size_t n = 0; n < 200; n += 7) {
      std::vector<float> x(n);
      for (size_t i = 0; i < n; ++i) x[i] = float(random.uniform(i)) * 8 - 3;
      for (size_t at = 0; at <= n; ++at) {
        if (at < n) x[at] = at % 2 == 0 ? 100.0f : -100.0f;
        float least = 0, most = 0;
        SDX_PICK(range_f32, isa)(x.data(), n, &least, &most);
        float low = 0, high = 0;
        for (const float v : x) low = std::fmin(low, v), high = std::fmax(high, v);
        ASSERT_EQ(least, low);
        ASSERT_EQ(most, high);
        if (at == n) break;
        x[at] = NAN;
        SDX_PICK(range_f32, isa)(x.data(), n, &least, &most);
        ASSERT_TRUE(least != least && most != most) << n << " " << at;
        x[at] = 1;
      }
    }
  }
}

TEST(MapBytes, reads_the_table_for_each_byte_of_any_number) {
  std::vector<uint8_t> table(256), x(1000);
  for (size_t i = 0; i < table.size(); ++i) table[i] = uint8_t(i * 167 + 13);
  for (size_t i = 0; i < x.size(); ++i) x[i] = uint8_t(i * 73 + i / 256);  // every byte
  for (const Isa isa : available_isas()) {
    for (const size_t n : {0, 1, 7, 8, 63, 64, 65, 127, 1000}) {
      std::vector<uint8_t> y(n + 1, 99);
      SDX_PICK(map_bytes, isa)(x.data(), y.data(), n, table.data());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], table[x[i]]) << isa_name(isa) << " at " << i;
      EXPECT_EQ(y[n], 99) << "nothing is written behind the end";
    }
  }
}

}  // namespace
}  // namespace sdx
