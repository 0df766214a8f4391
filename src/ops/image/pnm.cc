// The portable formats P1 to P6: bits, greys and colours, as text and as bytes.
#include "ops/image/decode.h"

namespace sdx::image {
namespace {

class Tokens {
 public:
  explicit Tokens(Bytes bytes) : bytes_(bytes) {}
  // The next number of the text; -1 if there is none. Comments go from # to the end of the line.
  int64_t number() {
    skip();
    int64_t value = -1;
    for (; at < bytes_.size() && bytes_[at] >= '0' && bytes_[at] <= '9'; ++at) {
      value = (value < 0 ? 0 : value) * 10 + (bytes_[at] - '0');
      if (value > kMostPixels) return -1;
    }
    return value;
  }
  // One bit of a P1 file, which need not be apart from the next.
  int64_t digit() {
    skip();
    if (at == bytes_.size() || (bytes_[at] != '0' && bytes_[at] != '1')) return -1;
    return bytes_[at++] - '0';
  }
  size_t at = 2;

 private:
  void skip() {
    for (; at < bytes_.size(); ++at) {
      const uint8_t c = bytes_[at];
      if (c == '#') {
        while (at < bytes_.size() && bytes_[at] != '\n') ++at;
        if (at == bytes_.size()) return;
      } else if (c != ' ' && (c < 9 || c > 13)) {
        return;
      }
    }
  }
  Bytes bytes_;
};

}  // namespace

Decoded decode_pnm(Bytes bytes) {
  const int kind = bytes[1] - '0';
  const bool bits = kind == 1 || kind == 4, colour = kind == 3 || kind == 6, text = kind <= 3;
  Tokens in(bytes);
  const int64_t width = in.number(), height = in.number(), most = bits ? 1 : in.number();
  if (most < 1 || most > 65535) return std::nullopt;
  Decoded image = blank(height, width);
  if (!image) return std::nullopt;
  size_t at = in.at + 1;  // one blank ends the header
  const size_t channels = colour ? 3 : 1, size = most > 255 ? 2 : 1;
  const auto sample = [&](int64_t x) -> int64_t {
    if (text) return bits ? in.digit() : in.number();
    if (bits) {
      const size_t byte = at + size_t(x) / 8;
      return byte < bytes.size() ? bytes[byte] >> (7 - x % 8) & 1 : -1;
    }
    if (at + size > bytes.size()) return -1;
    const int64_t value = size == 2 ? bytes[at] << 8 | bytes[at + 1] : bytes[at];
    at += size;
    return value;
  };
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      uint8_t* rgb = image->rgb.data() + (y * width + x) * 3;
      for (size_t c = 0; c < channels; ++c) {
        const int64_t value = sample(x);
        if (value < 0 || value > most) return std::nullopt;
        rgb[c] = uint8_t(bits ? (value != 0 ? 0 : 255) : (value * 255 + most / 2) / most);
      }
      if (!colour) rgb[1] = rgb[2] = rgb[0];
    }
    if (bits && !text) at += (size_t(width) + 7) / 8;
  }
  return image;
}

}  // namespace sdx::image
