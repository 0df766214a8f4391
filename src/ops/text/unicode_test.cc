#include "ops/text/unicode.h"

#include <gtest/gtest.h>

namespace sdx {
namespace {

TEST(Unicode, case_maps_one_code_point_to_one) {
  EXPECT_EQ(upper("stra\u00dfe \u00e9 \u0173 \u03c3\u03c2 \u0436 \U00010428"),
            "STRA\u00dfE \u00c9 \u0172 \u03a3\u03a3 \u0416 \U00010400");
  EXPECT_EQ(lower("\u0130ZM\u0130R \u00c9\u0172 \u03a3 \u0416 \U00010400 \u01c5"),
            "izmir \u00e9\u0173 \u03c3 \u0436 \U00010428 \u01c6");
  EXPECT_EQ(upper("\u0101\u0102\u0103\u0104"), "\u0100\u0102\u0102\u0104");
  EXPECT_EQ(upper("\u1fb3"), "\u1fbc");
}

TEST(Unicode, bytes_that_are_not_text_stay) {
  const std::string odd =
      "a\xff\xc3"
      "b\xed\xa0\x80\xf0\x9f\x98\xc0\x80\xe2\x82";
  std::string upper_case = odd;
  upper_case[0] = 'A';
  upper_case[3] = 'B';
  EXPECT_EQ(upper(odd), upper_case);
  EXPECT_EQ(lower(upper_case), odd);
}

TEST(Unicode, every_code_point_survives_a_round_trip) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    encode(code, text);
    size_t size = 0;
    ASSERT_EQ(decode(text, size), code);
    ASSERT_EQ(size, text.size());
  }
}

TEST(Unicode, knows_white_space) {
  for (const char32_t code : {0x9, 0x20, 0x1f, 0x85, 0xa0, 0x2003, 0x3000})
    EXPECT_TRUE(is_space(code));
  for (const char32_t code : {0x8, 0x41, 0x200b, 0xfeff}) EXPECT_FALSE(is_space(code));
}

}  // namespace
}  // namespace sdx
