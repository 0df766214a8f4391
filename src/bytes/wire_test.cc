#include "bytes/wire.h"

#include <gtest/gtest.h>

#include "bytes/sha1.h"

namespace sdx {
namespace {

std::span<const std::byte> view(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Text : ByteSink {
  Status put(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return ok();
  }
  std::string text;
};

TEST(Wire, varints_of_every_length_come_back) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t value :
         {uint64_t{1} << shift, (uint64_t{1} << shift) - 1, ~uint64_t{0} >> shift}) {
      Text sink;
      WireWriter out(sink);
      out.varint(value);
      ASSERT_TRUE(out.finish());
      EXPECT_EQ(sink.text.size(), varint_size(value));
      WireReader in(view(sink.text));
      uint64_t read = 0;
      ASSERT_TRUE(in.varint(read));
      EXPECT_EQ(read, value);
      EXPECT_TRUE(in.at_end());
    }
  }
}

TEST(Wire, a_varint_of_more_than_64_bits_is_an_error) {
  uint64_t value = 0;
  WireReader eleven(view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  EXPECT_FALSE(eleven.varint(value));
  WireReader top(view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
  EXPECT_FALSE(top.varint(value));
}

TEST(Wire, errors_say_the_offset_in_the_file) {
  WireReader in(view("\x0a\x05xy"), 1000);
  uint32_t field = 0;
  WireType type = WireType::varint;
  std::span<const std::byte> bytes;
  ASSERT_TRUE(in.tag(field, type));
  EXPECT_EQ(field, 1u);
  EXPECT_EQ(type, WireType::bytes);
  ASSERT_FALSE(in.bytes(bytes));
  EXPECT_NE(in.error().what.find("byte 1001"), std::string::npos) << in.error().what;
}

TEST(Wire, field_zero_and_wire_types_six_and_seven_are_errors) {
  uint32_t field = 0;
  WireType type = WireType::varint;
  for (const std::string_view text :
       {std::string_view("\x00", 1), std::string_view("\x0e"), std::string_view("\x0f")}) {
    WireReader in(view(text));
    EXPECT_FALSE(in.tag(field, type));
  }
}

TEST(Wire, groups_are_skipped_whole_and_only_so_deep) {
  WireReader in(view("\x13\x08\x01\x14\x0cz"), 0);  // the inner group 2, then the end of group 1
  EXPECT_TRUE(in.skip(1, WireType::group_start, 5));
  EXPECT_EQ(in.offset(), 5u);
  const std::string deep(100000, '\x0b');
  WireReader bottomless(view(deep));
  EXPECT_FALSE(bottomless.skip(1, WireType::group_start, 100));
  WireReader crossed(view("\x14"));
  EXPECT_FALSE(crossed.skip(1, WireType::group_start, 5));
}

TEST(Sha1, agrees_with_published_digests) {
  EXPECT_EQ(sha1_hex(view("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex(view("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex(view("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_hex(view(std::string(1000000, 'a'))), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

}  // namespace
}  // namespace sdx
