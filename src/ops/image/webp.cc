// WebP through libwebp, lossy and lossless; transparency is dropped.
#ifdef SDX_WITH_WEBP
#include <webp/decode.h>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

std::string_view reason_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "not enough memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "uses an unsupported feature";
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "the data ends early";
    default:
      return "the bit stream is damaged";
  }
}

}  // namespace

Result<Picture> decode_webp(Encoded file) {
  constexpr std::string_view kName = "WebP";
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return broken(kName, "libwebp is of another version");
  VP8StatusCode status = WebPGetFeatures(bytes, file.size(), &config.input);
  if (status != VP8_STATUS_OK) return broken(kName, reason_of(status));
  if (config.input.has_animation) return broken(kName, "animations are not supported");
  SDX_ASSIGN(Picture picture,
             make_picture(kName, uint64_t(config.input.width), uint64_t(config.input.height), 3));
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {picture.pixels.get(), int(picture.stride()),
                          picture.stride() * picture.height};
  status = WebPDecode(bytes, file.size(), &config);
  if (status != VP8_STATUS_OK) return broken(kName, reason_of(status));
  return picture;
}

}  // namespace sdx::image
#endif
