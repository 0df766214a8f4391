#include "ops/image/decode.h"

#include <cstring>
#include <string_view>

namespace sdx::image {

Decoded blank(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMostPixels / width) return std::nullopt;
  return Image{height, width, std::vector<uint8_t>(size_t(height * width * 3))};
}

Result<Decoded> decode(Bytes bytes) {
  const auto starts = [&](std::string_view magic, size_t at = 0) {
    return bytes.size() >= at + magic.size() &&
           std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
  };
  using namespace std::string_view_literals;
  [[maybe_unused]] const auto absent = [](std::string_view format) {
    return fail("SDX-R0690", "this build has no decoder for {}", format);
  };
  if (starts("BM")) return decode_bmp(bytes);
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6') {
    return decode_pnm(bytes);
  }
  if (starts("\xff\xd8\xff")) {
#ifdef SDX_WITH_JPEG
    return decode_jpeg(bytes);
#else
    return absent("JPEG");
#endif
  }
  if (starts("\x89PNG\r\n\x1a\n")) {
#ifdef SDX_WITH_PNG
    return decode_png(bytes);
#else
    return absent("PNG");
#endif
  }
  if (starts("II*\0"sv) || starts("MM\0*"sv)) {
#ifdef SDX_WITH_TIFF
    return decode_tiff(bytes);
#else
    return absent("TIFF");
#endif
  }
  if (starts("RIFF") && starts("WEBP", 8)) {
#ifdef SDX_WITH_WEBP
    return decode_webp(bytes);
#else
    return absent("WebP");
#endif
  }
  if (starts("\xff\x4f\xff\x51") || starts("\0\0\0\x0cjP  "sv)) {
#ifdef SDX_WITH_JPEG2000
    return decode_jpeg2000(bytes);
#else
    return absent("JPEG 2000");
#endif
  }
  return Decoded();
}

}  // namespace sdx::image
