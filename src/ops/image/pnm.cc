// PBM, PGM and PPM, as text (P1, P2, P3) and binary (P4, P5, P6).
#include <algorithm>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

constexpr std::string_view kPnm = "PNM";

class Reader {
 public:
  explicit Reader(Encoded bytes) : bytes_(bytes) {}

  size_t left() const { return bytes_.size() - at_; }
  uint8_t next() { return uint8_t(bytes_[at_++]); }  // with left() > 0

  // White space, and comments from # to the end of the line.
  void skip_space() {
    for (bool comment = false; left() > 0; ++at_) {
      const char c = char(bytes_[at_]);
      comment = comment ? c != '\n' && c != '\r' : c == '#';
      if (!comment && !is_space(c)) return;
    }
  }
  void skip_one() { at_ += left() > 0 && is_space(char(bytes_[at_])); }

  // A decimal number after space.
  Result<uint64_t> number(uint64_t most) {
    skip_space();
    if (left() == 0) return broken(kPnm, "the data ends early");
    if (!is_digit()) return broken(kPnm, fmt::format("byte {} is no digit", at_));
    uint64_t value = 0;
    while (left() > 0 && is_digit()) {
      value = value * 10 + uint64_t(next() - '0');
      if (value > most) return broken(kPnm, fmt::format("a number exceeds {}", most));
    }
    return value;
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  bool is_digit() const { return bytes_[at_] >= std::byte{'0'} && bytes_[at_] <= std::byte{'9'}; }

  Encoded bytes_;
  size_t at_ = 0;
};

uint8_t scaled(uint64_t value, uint64_t most) {
  return uint8_t((std::min(value, most) * 255 + most / 2) / most);
}

// In bitmaps 1 is black.
Status text_bits(Reader& in, Picture& picture) {
  for (size_t i = 0; i < picture.width * picture.height; ++i) {
    in.skip_space();
    if (in.left() == 0) return broken(kPnm, "the data ends early");
    const uint8_t digit = in.next();
    if (digit != '0' && digit != '1') return broken(kPnm, "a bitmap holds more than 0 and 1");
    picture.pixels[i] = digit == '1' ? 0 : 255;
  }
  return ok();
}

void packed_bits(Reader& in, Picture& picture) {
  for (size_t y = 0; y < picture.height; ++y) {
    uint8_t byte = 0;
    for (size_t x = 0; x < picture.width; ++x) {
      if (x % 8 == 0) byte = in.next();
      picture.row(y)[x] = (byte >> (7 - x % 8) & 1) != 0 ? 0 : 255;
    }
  }
}

Status samples(Reader& in, Picture& picture, uint64_t most, bool text) {
  const size_t count = picture.stride() * picture.height;
  for (size_t i = 0; i < count; ++i) {
    uint64_t value;
    if (text) {
      SDX_ASSIGN(value, in.number(65535));
    } else {
      value = in.next();
      if (most > 255) value = value << 8 | in.next();
    }
    picture.pixels[i] = scaled(value, most);
  }
  return ok();
}

}  // namespace

Result<Picture> decode_pnm(Encoded file) {
  if (file.size() < 2) return broken(kPnm, "the data ends early");
  const char kind = char(file[1]);
  if (file[0] != std::byte{'P'} || kind < '1' || kind > '6') return broken(kPnm, "bad header");
  const bool text = kind <= '3', bitmap = kind == '1' || kind == '4';
  const size_t channels = kind == '3' || kind == '6' ? 3 : 1;
  Reader in(file.subspan(2));
  SDX_ASSIGN(const uint64_t width, in.number(kMostPixels));
  SDX_ASSIGN(const uint64_t height, in.number(kMostPixels));
  uint64_t most = 1;
  if (!bitmap) {
    SDX_ASSIGN(most, in.number(65535));
    if (most == 0) return broken(kPnm, "the greatest sample is 0");
  }
  if (!text) in.skip_one();
  if (width > 0 && height > kMostPixels / width) {
    return broken(kPnm, fmt::format("{} x {} pixels, more than {}", width, height, kMostPixels));
  }
  const uint64_t row = kind == '4'   ? (width + 7) / 8
                       : kind == '1' ? width
                                     : width * channels * (text || most > 255 ? 2 : 1);
  // Text needs at least a digit and, but for bitmaps and the last one, a space per sample.
  if (row * height > in.left() + (text && !bitmap ? 1 : 0)) {
    return broken(kPnm, "the data ends early");
  }
  SDX_ASSIGN(Picture picture, make_picture(kPnm, width, height, channels));
  if (kind == '4') {
    packed_bits(in, picture);
  } else {
    SDX_TRY(bitmap ? text_bits(in, picture) : samples(in, picture, most, text));
  }
  return picture;
}

}  // namespace sdx::image
