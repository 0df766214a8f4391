// Picture: pixels out of an encoded image file. One decoder per format, each safe on any bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace sdx::image {

using Encoded = std::span<const std::byte>;

// Rows from the top, pixels from the left, without gaps; one channel is grey, three are RGB.
struct Picture {
  size_t width = 0, height = 0, channels = 0;
  std::unique_ptr<uint8_t[]> pixels;

  size_t stride() const { return width * channels; }
  uint8_t* row(size_t y) { return pixels.get() + y * stride(); }
  const uint8_t* row(size_t y) const { return pixels.get() + y * stride(); }
};

// What a header may claim before anything is allocated for it, so that memory and time stay
// bounded.
inline constexpr uint64_t kMostPixels = uint64_t{1} << 28;

// "JPEG: reason".
Error broken(std::string_view format, std::string_view reason);
// A picture of indeterminate pixels; an error if it has none or too many.
Result<Picture> make_picture(std::string_view format, uint64_t width, uint64_t height,
                             size_t channels);

// What a C library says went wrong: a plain array, so that longjmp may pass by.
struct Reason {
  std::array<char, 200> text{};
  void set(std::string_view what) { text[what.copy(text.data(), text.size() - 1)] = 0; }
  std::string_view or_else(std::string_view other) const { return text[0] ? text.data() : other; }
};

Result<Picture> decode_bmp(Encoded);
Result<Picture> decode_jpeg(Encoded);
Result<Picture> decode_jpeg2000(Encoded);
Result<Picture> decode_png(Encoded);
Result<Picture> decode_pnm(Encoded);
Result<Picture> decode_tiff(Encoded);
Result<Picture> decode_webp(Encoded);

// The format is told by the first bytes.
Result<Picture> decode_image(Encoded);

}  // namespace sdx::image
