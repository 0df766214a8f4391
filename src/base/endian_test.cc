#include "base/endian.h"

#include <gtest/gtest.h>

#include "base/elem.h"

namespace sdx {
namespace {

TEST(Endian, a_file_has_the_least_significant_byte_first) {
  const unsigned char bytes[] = {1, 2, 3, 4, 0, 0, 0, 0x80};
  EXPECT_EQ(load_little<uint16_t>(bytes), 0x0201);
  EXPECT_EQ(load_little<uint32_t>(bytes), 0x04030201u);
  EXPECT_EQ(load_little<uint64_t>(bytes), 0x8000000004030201u);
  EXPECT_EQ(load_little<float>("\0\0\x80\x3f"), 1.0f);
}

TEST(Endian, a_number_is_written_with_its_least_significant_byte_first) {
  std::string text;
  append_little(uint32_t{0x04030201}, text);
  append_little(uint64_t{0x0605}, text, 2);
  append_little(1.0f, text);
  EXPECT_EQ(text, std::string("\1\2\3\4\5\6\0\0\x80\x3f", 10));
}

TEST(Endian, what_is_turned_around_together_is_one_number) {
  EXPECT_EQ(number_bytes(DType::f32), 4u);
  EXPECT_EQ(number_bytes(DType::bf16), 2u);
  EXPECT_EQ(number_bytes(DType::c64), 4u);
  EXPECT_EQ(number_bytes(DType::c128), 8u);
  EXPECT_EQ(number_bytes(DType::boolean), 1u);
  EXPECT_EQ(number_bytes(DType::i4), 1u);
  EXPECT_EQ(number_bytes(DType::f6e2m3), 1u);
}

TEST(Endian, elements_are_turned_one_by_one_and_back_again) {
  const std::string before("\1\2\3\4\5\6\7\10", 8);
  std::string text = before;
  turn_elements(DType::c64, text.data(), text.size());
  EXPECT_EQ(text, std::string("\4\3\2\1\10\7\6\5", 8));
  const auto copy = turned_elements(DType::c64, text.data(), text.size());
  EXPECT_EQ(std::memcmp(copy.get(), before.data(), before.size()), 0);
  turn_elements(DType::i16, text.data(), text.size());
  EXPECT_EQ(text, std::string("\3\4\1\2\7\10\5\6", 8));
  turn_elements(DType::u4, text.data(), text.size());
  EXPECT_EQ(text, std::string("\3\4\1\2\7\10\5\6", 8));
}

TEST(Endian, bits_of_an_element_are_those_of_its_number) {
  const uint16_t halves[] = {0x3c00, 0x0102};
  EXPECT_EQ(get_bits(DType::f16, halves, 1), 0x0102u);
  uint32_t words[] = {0, 0};
  set_bits(DType::u32, words, 1, 0x01020304);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0x01020304u);
}

}  // namespace
}  // namespace sdx
