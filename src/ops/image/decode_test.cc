#include "ops/image/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace sdx::image {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::vector<int> pixels(const Result<Picture>& picture) {
  if (!picture) return {};
  return {picture->pixels.get(), picture->pixels.get() + picture->stride() * picture->height};
}

std::string why(const Result<Picture>& picture) { return picture ? "" : picture.error().what; }

struct Sample {
  std::string name;
  Bytes bytes;
};

// One picture, a checkerboard of 32 x 32 pixels, in every format; JPEG and WebP are lossy.
std::vector<Sample> samples() {
  std::vector<Sample> result;
  for (const auto& entry :
       std::filesystem::directory_iterator(SDX_SOURCE_DIR "/tests/data/images")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    result.push_back({entry.path().filename(), bytes_of(text)});
  }
  std::sort(result.begin(), result.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return result;
}

// Decodes a copy of exactly these bytes, so that a sanitizer sees any read beyond them.
Result<Picture> decode_copy(std::span<const std::byte> bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return decode_image({copy.get(), bytes.size()});
}

uint64_t digest(const Picture& picture) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < picture.stride() * picture.height; ++i) {
    hash = (hash ^ picture.pixels[i]) * 0x100000001b3;
  }
  return hash;
}

TEST(Decode, every_format_gives_the_pixels_of_the_official_suite) {
  for (const Sample& sample : samples()) {
    const Result<Picture> picture = decode_image(sample.bytes);
    ASSERT_TRUE(picture.ok()) << sample.name << ": " << why(picture);
    EXPECT_EQ(picture->width, 32u);
    EXPECT_EQ(picture->height, 32u);
    EXPECT_EQ(picture->channels, 3u);
    EXPECT_EQ(digest(*picture), sample.name.ends_with("jpg")    ? 0x97fa2651d85d1360
                                : sample.name.ends_with("webp") ? 0xe9bd65bac2d7c71f
                                                                : 0x1a35e7cfc0309e08)
        << sample.name;
  }
}

TEST(Decode, a_truncated_file_is_an_error_that_names_the_format) {
  ASSERT_GE(samples().size(), 7u);
  for (const Sample& sample : samples()) {
    const Result<Picture> whole = decode_image(sample.bytes);
    ASSERT_TRUE(whole.ok()) << sample.name << ": " << why(whole);
    size_t errors = 0;
    for (size_t length = 0; length < sample.bytes.size(); ++length) {
      const Result<Picture> part = decode_copy({sample.bytes.data(), length});
      errors += !part.ok();
      if (part.ok()) {
        // Only marks of the end may be missing.
        EXPECT_EQ(pixels(part), pixels(whole)) << sample.name << " cut to " << length;
        EXPECT_GT(length + 32, sample.bytes.size()) << sample.name << " cut to " << length;
      } else {
        EXPECT_TRUE(part.error().code == "SDX-R0691" || part.error().code == "SDX-R0692");
        EXPECT_FALSE(part.error().what.empty());
      }
    }
    EXPECT_GT(errors + 32, sample.bytes.size()) << sample.name;
  }
}

TEST(Decode, any_bytes_give_a_picture_or_an_error) {
  std::mt19937 random(1);
  for (const Sample& sample : samples()) {
    for (int round = 0; round < 300; ++round) {
      Bytes bytes = sample.bytes;
      const size_t changes = 1 + random() % 6;
      for (size_t i = 0; i < changes; ++i) {
        // Headers matter most, and they come first.
        const size_t range = random() % 2 == 0 ? std::min<size_t>(bytes.size(), 96) : bytes.size();
        bytes[random() % range] = std::byte(random() % 3 == 0 ? 0xff : random() % 256);
      }
      const Result<Picture> picture = decode_copy(bytes);
      if (picture) {
        EXPECT_LE(picture->width * picture->height, kMostPixels);
      } else {
        EXPECT_FALSE(picture.error().what.empty());
      }
    }
  }
}

TEST(Decode, unknown_bytes_are_an_error_that_shows_them) {
  EXPECT_EQ(why(decode_image(bytes_of("GIF89a"))),
            "6 bytes that begin with [47 49 46 38] are no BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or "
            "WebP");
  EXPECT_EQ(decode_image({}).error().code, "SDX-R0692");
}

TEST(Decode, a_file_under_the_head_of_another_format_is_an_error) {
  for (const Sample& sample : samples()) {
    for (const Sample& other : samples()) {
      if (sample.name == other.name || other.name.ends_with("ppm")) continue;
      Bytes bytes = sample.bytes;
      std::copy_n(other.bytes.begin(), 12, bytes.begin());
      EXPECT_FALSE(decode_copy(bytes).ok()) << sample.name << " as " << other.name;
    }
    EXPECT_EQ(decode_bmp(sample.bytes).ok(), sample.name.ends_with("bmp"));
    EXPECT_EQ(decode_pnm(sample.bytes).ok(), sample.name.ends_with("ppm"));
  }
}

TEST(Jpeg, a_picture_larger_than_its_data_is_an_error) {
  for (Sample& sample : samples()) {
    if (!sample.name.ends_with("jpg")) continue;
    const std::byte start_of_frame[] = {std::byte{0xff}, std::byte{0xc0}};
    const auto at = std::search(sample.bytes.begin(), sample.bytes.end(),
                                std::begin(start_of_frame), std::end(start_of_frame));
    ASSERT_GT(sample.bytes.end() - at, 9);
    at[5] = std::byte{0x40};  // the height's high byte
    EXPECT_EQ(why(decode_image(sample.bytes)),
              "JPEG: Corrupt JPEG data: premature end of data segment");
  }
}

TEST(Pnm, bitmaps_are_black_where_a_bit_is_set) {
  EXPECT_EQ(pixels(decode_pnm(bytes_of("P1\n# a comment 9 9\n3 2\n101 0 1 0"))),
            (std::vector<int>{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(pixels(decode_pnm(bytes_of("P4 9 2\n\x80\x80\x01\xff"))),
            (std::vector<int>{0, 255, 255, 255, 255, 255, 255, 255, 0,  //
                              255, 255, 255, 255, 255, 255, 255, 0, 0}));
}

TEST(Pnm, samples_are_scaled_to_255) {
  using namespace std::string_view_literals;
  EXPECT_EQ(pixels(decode_pnm(bytes_of("P2 3 1 15 0 7 15"))), (std::vector<int>{0, 119, 255}));
  EXPECT_EQ(pixels(decode_pnm(bytes_of("P5 2 1 65535\n\x80\x00\xff\xff"sv))),
            (std::vector<int>{128, 255}));
}

TEST(Pnm, a_huge_header_is_refused_before_memory_is_taken) {
  EXPECT_EQ(why(decode_pnm(bytes_of("P6 16384 16385 255\n"))),
            "PNM: 16384 x 16385 pixels, more than 268435456");
  EXPECT_EQ(why(decode_pnm(bytes_of("P6 16384 16384 255\nabc"))), "PNM: the data ends early");
  EXPECT_EQ(why(decode_pnm(bytes_of("P6 99999999999 1 255\n"))), "PNM: a number exceeds 268435456");
}

// A BMP with a 40-byte header.
Bytes bmp(int32_t width, int32_t height, uint16_t bits, uint32_t compression,
          std::string_view palette, std::string_view data) {
  std::string text = "BM";
  const auto put = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text += char(value >> (8 * i));
  };
  put(0, 4), put(0, 4), put(uint32_t(54 + palette.size()), 4), put(40, 4);
  put(uint32_t(width), 4), put(uint32_t(height), 4), put(1, 2), put(bits, 2);
  put(compression, 4), put(0, 4), put(0, 4), put(0, 4), put(0, 4), put(0, 4);
  text += palette;
  text += data;
  return bytes_of(text);
}

TEST(Bmp, rows_go_up_and_with_a_negative_height_down) {
  using namespace std::string_view_literals;
  const auto data = "\1\2\3\0\4\5\6\0"sv;
  EXPECT_EQ(pixels(decode_bmp(bmp(1, 2, 24, 0, "", data))), (std::vector<int>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(pixels(decode_bmp(bmp(1, -2, 24, 0, "", data))), (std::vector<int>{3, 2, 1, 6, 5, 4}));
}

TEST(Bmp, palettes_of_one_bit_and_fields_of_sixteen) {
  using namespace std::string_view_literals;
  EXPECT_EQ(pixels(decode_bmp(bmp(3, 1, 1, 0, "\0\0\0\0\1\2\3\0"sv, "\xa0\0\0\0"sv))),
            (std::vector<int>{3, 2, 1, 0, 0, 0, 3, 2, 1}));
  EXPECT_EQ(pixels(decode_bmp(bmp(1, 1, 16, 0, "", "\x1f\x7c"sv))),
            (std::vector<int>{255, 0, 255}));
  EXPECT_EQ(
      pixels(decode_bmp(bmp(1, 1, 16, 3, "\0\xf8\0\0\xe0\7\0\0\x1f\0\0\0"sv, "\xe0\x07\0\0"sv))),
      (std::vector<int>{0, 255, 0}));
  EXPECT_EQ(why(decode_bmp(bmp(1, 1, 16, 3, "\5\0\0\0\xe0\7\0\0\x1f\0\0\0"sv, "\0\0\0\0"sv))),
            "BMP: bit field 0x5 has holes");
}

TEST(Bmp, run_lengths_of_eight_and_four_bits) {
  using namespace std::string_view_literals;
  const auto palette = "\0\0\0\0\1\1\1\0\2\2\2\0"sv;
  const auto red = [](const Result<Picture>& picture) {
    std::vector<int> result;
    const std::vector<int> all = pixels(picture);
    for (size_t i = 0; i < all.size(); i += 3) result.push_back(all[i]);
    return result;
  };
  const std::string wide = std::string(palette) + std::string(4 * 253, '\0');
  // Two 1s, end of row, three literals, end of the picture.
  EXPECT_EQ(red(decode_bmp(bmp(3, 2, 8, 1, wide, "\2\1\0\0\0\3\2\1\2\0\0\1"sv))),
            (std::vector<int>{2, 1, 2, 1, 1, 0}));
  const std::string narrow = std::string(palette) + std::string(4 * 13, '\0');
  // Three of 1 and 2 in turn, moved by one row, more than the row holds.
  EXPECT_EQ(red(decode_bmp(bmp(4, 2, 4, 2, narrow, "\3\x12\0\2\0\1\5\x22\0\1"sv))),
            (std::vector<int>{0, 0, 0, 2, 1, 2, 1, 0}));
  EXPECT_EQ(why(decode_bmp(bmp(4, 2, 4, 2, narrow, "\3\x12\0"sv))), "BMP: the data ends early");
}

TEST(Bmp, a_header_larger_than_its_data_is_refused) {
  EXPECT_EQ(why(decode_bmp(bmp(16384, 16384, 24, 0, "", "abc"))), "BMP: the data ends early");
  EXPECT_EQ(why(decode_bmp(bmp(INT32_MAX, INT32_MIN, 8, 1, "", "abc"))),
            "BMP: 2147483647 x 2147483648 pixels, more than 268435456");
}

}  // namespace
}  // namespace sdx::image
