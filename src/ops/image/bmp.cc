// BMP: Windows and OS/2 headers, 1 to 32 bits, palettes, bit fields and run lengths; no
// transparency.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

constexpr std::string_view kBmp = "BMP";

enum Compression : uint32_t { kNone = 0, kRuns8 = 1, kRuns4 = 2, kFields = 3, kAlphaFields = 6 };

struct Colour {
  uint8_t r = 0, g = 0, b = 0;
};

// One colour's bits in a pixel of 16 or 32.
struct Field {
  uint32_t mask = 0;
  uint8_t of(uint32_t pixel) const {
    if (mask == 0) return 0;
    const int low = std::countr_zero(mask);
    return uint8_t(uint64_t{(pixel & mask) >> low} * 255 / (mask >> low));
  }
};

struct Header {
  uint64_t width = 0, height = 0;
  bool top_down = false;
  unsigned bits = 0;
  uint32_t compression = kNone;
  size_t data = 0;  // where the pixels start
  Field r, g, b;
  std::array<Colour, 256> palette{};  // what the file leaves out is black

  size_t y_of(size_t row) const { return top_down ? row : size_t(height) - 1 - row; }
};

// Little-endian; 0 behind the end.
uint32_t number(Encoded file, size_t at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes && at + i < file.size(); ++i) {
    value |= uint32_t(file[at + i]) << (8 * i);
  }
  return value;
}

void read_palette(Encoded file, size_t at, size_t entry, size_t count, Header& header) {
  for (size_t i = 0; i < std::min<size_t>(count, header.palette.size()); ++i, at += entry) {
    if (at + 3 > std::min(file.size(), header.data)) return;
    header.palette[i] = {uint8_t(file[at + 2]), uint8_t(file[at + 1]), uint8_t(file[at])};
  }
}

Status read_fields(Encoded file, Header& header) {
  header.r.mask = header.bits == 16 ? 0x7c00 : 0xff0000;
  header.g.mask = header.bits == 16 ? 0x03e0 : 0x00ff00;
  header.b.mask = header.bits == 16 ? 0x001f : 0x0000ff;
  if (header.compression == kNone) return ok();
  Field* const fields[] = {&header.r, &header.g, &header.b};
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t mask = number(file, 54 + 4 * i, 4);
    fields[i]->mask = mask;
    if (mask != 0 && !std::has_single_bit(uint64_t{mask >> std::countr_zero(mask)} + 1)) {
      return broken(kBmp, fmt::format("bit field {:#x} has holes", mask));
    }
  }
  return ok();
}

Result<Header> read_header(Encoded file) {
  if (file.size() < 26) return broken(kBmp, "the data ends early");
  Header header;
  header.data = number(file, 10, 4);
  const size_t size = number(file, 14, 4);
  const bool core = size == 12;
  if (!core && (size < 40 || size > 256)) {
    return broken(kBmp, fmt::format("unknown header of {} bytes", size));
  }
  if (file.size() < 14 + size) return broken(kBmp, "the data ends early");
  const int64_t height = core ? int64_t{number(file, 20, 2)} : int32_t(number(file, 22, 4));
  const int64_t width = core ? int64_t{number(file, 18, 2)} : int32_t(number(file, 18, 4));
  if (width <= 0 || height == 0) {
    return broken(kBmp, fmt::format("{} x {} pixels", width, height));
  }
  header.width = uint64_t(width);
  header.height = uint64_t(height < 0 ? -height : height);
  header.top_down = height < 0;
  header.bits = number(file, core ? 24 : 28, 2);
  header.compression = core ? uint32_t{kNone} : number(file, 30, 4);
  if (header.data > file.size()) return broken(kBmp, "the data ends early");

  const unsigned bits = header.bits;
  const bool plain = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
  const bool fields = header.compression == kFields || header.compression == kAlphaFields;
  if (!(header.compression == kNone && plain) && !(header.compression == kRuns8 && bits == 8) &&
      !(header.compression == kRuns4 && bits == 4) && !(fields && (bits == 16 || bits == 32))) {
    return broken(kBmp, fmt::format("{} bits per pixel with compression {} are not supported", bits,
                                    header.compression));
  }
  if (bits <= 8) {
    const size_t used = core ? 0 : number(file, 46, 4);
    read_palette(file, 14 + size, core ? 3 : 4, used == 0 ? size_t{1} << bits : used, header);
  } else {
    SDX_TRY(read_fields(file, header));
  }
  return header;
}

void put(uint8_t* row, size_t x, Colour colour) {
  row[3 * x] = colour.r;
  row[3 * x + 1] = colour.g;
  row[3 * x + 2] = colour.b;
}

void plain_row(const Header& header, Encoded in, uint8_t* out) {
  const unsigned bits = header.bits;
  for (size_t x = 0; x < header.width; ++x) {
    if (bits <= 8) {
      const size_t bit = x * bits;
      const unsigned index = unsigned(in[bit / 8]) >> (8 - bits - bit % 8) & ((1u << bits) - 1);
      put(out, x, header.palette[index]);
    } else if (bits == 24) {
      put(out, x, {uint8_t(in[3 * x + 2]), uint8_t(in[3 * x + 1]), uint8_t(in[3 * x])});
    } else {
      const uint32_t pixel = number(in, x * bits / 8, bits / 8);
      put(out, x, {header.r.of(pixel), header.g.of(pixel), header.b.of(pixel)});
    }
  }
}

// Pairs (count, index or two of 4 bits); (0, n > 2) begins n literal ones, padded to 16 bits; (0,
// 0) ends a row, (0, 1) the picture, (0, 2) moves right and up. What is never written has the
// palette's first colour, what leaves the picture is dropped.
Status runs(const Header& header, Encoded in, Picture& picture) {
  for (size_t i = 0; i < picture.width * picture.height; ++i) {
    put(picture.pixels.get(), i, header.palette[0]);
  }
  const bool nibbles = header.bits == 4;
  size_t x = 0, row = 0, at = 0;
  const auto write = [&](unsigned index) {
    if (x < header.width) put(picture.row(header.y_of(row)), x, header.palette[index]);
    ++x;
  };
  while (row < header.height) {
    if (at + 2 > in.size()) return broken(kBmp, "the data ends early");
    const unsigned count = unsigned(in[at]), second = unsigned(in[at + 1]);
    at += 2;
    if (count > 0) {
      for (unsigned i = 0; i < count; ++i) {
        write(!nibbles ? second : i % 2 == 0 ? second >> 4 : second & 15);
      }
    } else if (second == 0) {
      x = 0;
      ++row;
    } else if (second == 1) {
      return ok();
    } else if (second == 2) {
      if (at + 2 > in.size()) return broken(kBmp, "the data ends early");
      x += size_t(in[at]);
      row += size_t(in[at + 1]);
      at += 2;
    } else {
      const size_t bytes = nibbles ? (second + 1) / 2 : second;
      if (at + bytes > in.size()) return broken(kBmp, "the data ends early");
      for (size_t i = 0; i < second; ++i) {
        const unsigned byte = unsigned(in[at + (nibbles ? i / 2 : i)]);
        write(!nibbles ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
      }
      at += bytes + bytes % 2;
    }
  }
  return ok();
}

}  // namespace

Result<Picture> decode_bmp(Encoded file) {
  SDX_ASSIGN(const Header header, read_header(file));
  const Encoded data = file.subspan(header.data);
  const bool packed = header.compression == kRuns8 || header.compression == kRuns4;
  const uint64_t bytes = (header.width * header.bits + 7) / 8, stride = (bytes + 3) / 4 * 4;
  if (!packed && (data.size() < bytes || (data.size() - bytes) / stride < header.height - 1)) {
    return broken(kBmp, "the data ends early");
  }
  SDX_ASSIGN(Picture picture, make_picture(kBmp, header.width, header.height, 3));
  if (packed) {
    SDX_TRY(runs(header, data, picture));
    return picture;
  }
  for (size_t row = 0; row < header.height; ++row) {
    plain_row(header, data.subspan(row * size_t(stride), size_t(bytes)),
              picture.row(header.y_of(row)));
  }
  return picture;
}

}  // namespace sdx::image
