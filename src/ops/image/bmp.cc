// BMP: uncompressed, of 1, 4, 8, 16, 24 and 32 bits a pixel.
#include <bit>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  // Little-endian; 0 behind the end, which `ok` tells.
  uint32_t get(size_t at, size_t size) {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      ok = false;
      return 0;
    }
    uint32_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | bytes_[at + i];
    return value;
  }
  bool ok = true;

 private:
  Bytes bytes_;
};

// The bits of `mask` in a pixel, scaled to 0 .. 255.
uint8_t channel(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift, value = (pixel & mask) >> shift;
  return uint8_t((value * 255 + most / 2) / most);
}

}  // namespace

Decoded decode_bmp(Bytes bytes) {
  Reader in(bytes);
  const size_t data = in.get(10, 4), header = in.get(14, 4);
  const bool old = header == 12;
  if (!old && header < 40) return std::nullopt;
  const int64_t width = old ? in.get(18, 2) : int32_t(in.get(18, 4));
  const int64_t signed_height = old ? in.get(20, 2) : int32_t(in.get(22, 4));
  const int64_t height = signed_height < 0 ? -signed_height : signed_height;  // negative: top down
  const size_t bits = in.get(old ? 24 : 28, 2);
  const uint32_t compression = old ? 0 : in.get(30, 4);
  const bool masked = compression == 3 && (bits == 16 || bits == 32);
  const bool known = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
  if (!in.ok || !known || (compression != 0 && !masked)) return std::nullopt;
  uint32_t masks[3] = {0xff0000, 0xff00, 0xff};
  if (bits == 16) masks[0] = 0x7c00, masks[1] = 0x3e0, masks[2] = 0x1f;
  for (size_t c = 0; masked && c < 3; ++c) masks[c] = in.get(54 + 4 * c, 4);

  Decoded image = blank(height, width);
  const size_t stride = (size_t(width) * bits + 31) / 32 * 4;
  if (!image || data > bytes.size() || stride * size_t(height) > bytes.size() - data) {
    return std::nullopt;
  }
  const size_t entry = old ? 3 : 4, palette = 14 + header;
  for (int64_t y = 0; y < height; ++y) {
    const size_t row = data + size_t(signed_height < 0 ? y : height - 1 - y) * stride;
    for (int64_t x = 0; x < width; ++x) {
      uint8_t* rgb = image->rgb.data() + (y * width + x) * 3;
      const size_t bit = size_t(x) * bits;
      if (bits <= 8) {
        const uint32_t byte = in.get(row + bit / 8, 1);
        const uint32_t index = byte >> (8 - bits - bit % 8) & ((1u << bits) - 1);
        for (size_t c = 0; c < 3; ++c) rgb[c] = uint8_t(in.get(palette + index * entry + 2 - c, 1));
      } else {
        const uint32_t pixel = in.get(row + bit / 8, bits / 8);
        for (size_t c = 0; c < 3; ++c) rgb[c] = channel(pixel, masks[c]);
      }
    }
  }
  if (!in.ok) return std::nullopt;
  return image;
}

}  // namespace sdx::image
