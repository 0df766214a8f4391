// Decoders of image files: one function for each format, from bytes in memory to rows of RGB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace sdx::image {

using Bytes = std::span<const uint8_t>;

// No image of more pixels is decoded: a few bytes can claim any size.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

struct Image {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb = {};  // [height, width, 3]
};
// Nothing: the bytes are damaged, or of a kind that is not supported.
using Decoded = std::optional<Image>;

// An image of this size with all pixels black; nothing if the size is not one.
Decoded blank(int64_t height, int64_t width);

Decoded decode_bmp(Bytes);
Decoded decode_pnm(Bytes);
Decoded decode_jpeg(Bytes);
Decoded decode_jpeg2000(Bytes);
Decoded decode_png(Bytes);
Decoded decode_tiff(Bytes);
Decoded decode_webp(Bytes);

// By the first bytes. An error if the format's library was not there when this was built.
Result<Decoded> decode(Bytes);

}  // namespace sdx::image
