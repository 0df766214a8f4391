#include "ops/image/decode.h"

#include <algorithm>
#include <new>

namespace sdx::image {
namespace {

using namespace std::string_view_literals;

using Decoder = Result<Picture>(Encoded);

// A format is recognised by `magic` at byte `at`.
struct Format {
  std::string_view name;
  size_t at;
  std::string_view magic;
  Decoder* decode;
};

// Null where the format's library was not there when this was built.
#ifdef SDX_WITH_JPEG
constexpr Decoder* kJpeg = decode_jpeg;
#else
constexpr Decoder* kJpeg = nullptr;
#endif
#ifdef SDX_WITH_JPEG2000
constexpr Decoder* kJpeg2000 = decode_jpeg2000;
#else
constexpr Decoder* kJpeg2000 = nullptr;
#endif
#ifdef SDX_WITH_PNG
constexpr Decoder* kPng = decode_png;
#else
constexpr Decoder* kPng = nullptr;
#endif
#ifdef SDX_WITH_TIFF
constexpr Decoder* kTiff = decode_tiff;
#else
constexpr Decoder* kTiff = nullptr;
#endif
#ifdef SDX_WITH_WEBP
constexpr Decoder* kWebp = decode_webp;
#else
constexpr Decoder* kWebp = nullptr;
#endif

constexpr Format kFormats[] = {
    {"JPEG", 0, "\xff\xd8\xff"sv, kJpeg},
    {"PNG", 0, "\x89PNG\r\n\x1a\n"sv, kPng},
    {"BMP", 0, "BM"sv, decode_bmp},
    {"TIFF", 0, "II*\0"sv, kTiff},
    {"TIFF", 0, "MM\0*"sv, kTiff},
    {"TIFF", 0, "II+\0"sv, kTiff},
    {"TIFF", 0, "MM\0+"sv, kTiff},
    {"WebP", 8, "WEBP"sv, kWebp},
    {"JPEG 2000", 0, "\0\0\0\x0cjP  \r\n\x87\n"sv, kJpeg2000},
    {"JPEG 2000", 0, "\xff\x4f\xff\x51"sv, kJpeg2000},
    {"PNM", 0, "P1"sv, decode_pnm},
    {"PNM", 0, "P2"sv, decode_pnm},
    {"PNM", 0, "P3"sv, decode_pnm},
    {"PNM", 0, "P4"sv, decode_pnm},
    {"PNM", 0, "P5"sv, decode_pnm},
    {"PNM", 0, "P6"sv, decode_pnm},
};

}  // namespace

Error broken(std::string_view format, std::string_view reason) {
  return fail("SDX-R0691", "{}: {}", format, reason);
}

Result<Picture> make_picture(std::string_view format, uint64_t width, uint64_t height,
                             size_t channels) {
  if (width == 0 || height == 0) return broken(format, "the picture has no pixels");
  if (width > kMostPixels / height) {
    return broken(format, fmt::format("{} x {} pixels, more than {}", width, height, kMostPixels));
  }
  Picture picture{size_t(width), size_t(height), channels, nullptr};
  picture.pixels.reset(new (std::nothrow) uint8_t[picture.stride() * picture.height]);
  if (picture.pixels == nullptr) return broken(format, "not enough memory");
  return picture;
}

Result<Picture> decode_image(Encoded file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Format& format : kFormats) {
    if (bytes.size() >= format.at && bytes.substr(format.at).starts_with(format.magic)) {
      if (format.decode == nullptr) {
        return fail("SDX-R0690", "this build has no decoder for {}", format.name);
      }
      return format.decode(file);
    }
  }
  std::string start;
  for (const char c : bytes.substr(0, 4)) start += fmt::format(" {:02x}", uint8_t(c));
  return fail("SDX-R0692",
              "{} bytes that begin with [{}] are no BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP",
              bytes.size(), start.empty() ? start : start.substr(1));
}

}  // namespace sdx::image
