// WebP through libwebp.
#ifdef SDX_WITH_WEBP
#include <webp/decode.h>

#include "ops/image/decode.h"

namespace sdx::image {

Decoded decode_webp(Bytes bytes) {
  int width = 0, height = 0;
  if (WebPGetInfo(bytes.data(), bytes.size(), &width, &height) == 0) return std::nullopt;
  Decoded image = blank(height, width);
  if (!image || WebPDecodeRGBInto(bytes.data(), bytes.size(), image->rgb.data(), image->rgb.size(),
                                  width * 3) == nullptr) {
    return std::nullopt;
  }
  return image;
}

}  // namespace sdx::image
#endif
