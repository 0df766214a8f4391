#include "base/elem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sdx {

TEST(NarrowFloat, every_encoding_survives_a_round_trip) {
  for (DType t : {DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                  DType::f8e5m2fnuz, DType::f8e8m0, DType::f6e2m3, DType::f6e3m2, DType::f4e2m1}) {
    for (uint32_t code = 0; code < (1u << bits(t)); ++code) {
      const float value = decode_float(t, code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_float(t, encode_float(t, value))))
            << short_name(t) << " " << code;
      } else {
        EXPECT_EQ(encode_float(t, value), code) << short_name(t) << " " << value;
      }
    }
  }
}

TEST(NarrowFloat, fast_f16_and_bf16_equal_the_general_rule) {
  uint32_t bits = 12345;
  for (int i = 0; i < 2000000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const float x = std::bit_cast<float>(bits);
    ASSERT_EQ(f32_to_f16(x), encode_float(DType::f16, x)) << x;
    ASSERT_EQ(f32_to_bf16(x), encode_float(DType::bf16, x)) << x;
  }
}

TEST(NarrowFloat, overflow_follows_the_format) {
  EXPECT_EQ(decode_float(DType::f8e4m3fn, encode_float(DType::f8e4m3fn, 1e6, true)), 448.0f);
  EXPECT_TRUE(std::isnan(decode_float(DType::f8e4m3fn, encode_float(DType::f8e4m3fn, 1e6, false))));
  EXPECT_EQ(decode_float(DType::f8e5m2, encode_float(DType::f8e5m2, 1e6, false)), INFINITY);
  EXPECT_EQ(decode_float(DType::f4e2m1, encode_float(DType::f4e2m1, -100)), -6.0f);
}

TEST(ToInteger, has_one_answer_for_every_input) {
  EXPECT_EQ(to_integer<int32_t>(NAN), 0);
  EXPECT_EQ(to_integer<int32_t>(3e9f), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(to_integer<int32_t>(-3e9f), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(to_integer<uint8_t>(-1.5f), 0);
  EXPECT_EQ(to_integer<uint8_t>(255.9), 255);
  EXPECT_EQ(to_integer<int64_t>(1e30), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_integer<uint64_t>(1e30), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(to_integer<int8_t>(-128.7), -128);
}

TEST(PackedBits, elements_cross_byte_boundaries) {
  uint8_t data[9] = {};
  for (size_t i = 0; i < 12; ++i) set_bits(DType::f6e2m3, data, i, i * 5 % 64);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(get_bits(DType::f6e2m3, data, i), i * 5 % 64);
  set_bits(DType::i4, data, 1, 0xf);
  EXPECT_EQ(get_i64(DType::i4, data, 1), -1);
}

}  // namespace sdx
