// TIFF through libtiff, which turns every layout of the first image into RGBA.
#ifdef SDX_WITH_TIFF
#include <tiffio.h>

#include <algorithm>
#include <cstring>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

// A file in memory, as libtiff wants to read it.
struct Memory {
  Bytes bytes;
  size_t at = 0;

  static tmsize_t read(thandle_t handle, void* to, tmsize_t count) {
    auto& m = *static_cast<Memory*>(handle);
    const size_t n = std::min(size_t(count), m.bytes.size() - m.at);
    std::memcpy(to, m.bytes.data() + m.at, n);
    m.at += n;
    return tmsize_t(n);
  }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    auto& m = *static_cast<Memory*>(handle);
    const toff_t base = whence == SEEK_CUR ? m.at : whence == SEEK_END ? m.bytes.size() : 0;
    m.at = size_t(std::min<toff_t>(base + offset, m.bytes.size()));
    return m.at;
  }
  static toff_t size(thandle_t handle) { return static_cast<Memory*>(handle)->bytes.size(); }
};

int silent(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

Decoded decode_tiff(Bytes bytes) {
  Memory memory{bytes};
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, silent, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options, silent, nullptr);
  TIFF* tiff = TIFFClientOpenExt(
      "", "rm", &memory, Memory::read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; },
      Memory::seek, [](thandle_t) { return 0; }, Memory::size, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  if (tiff == nullptr) return std::nullopt;
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  Decoded image = blank(height, width);
  std::vector<uint32_t> pixels(image ? size_t(width) * height : 0);
  const bool good = image && TIFFReadRGBAImageOriented(tiff, width, height, pixels.data(),
                                                       ORIENTATION_TOPLEFT, 1) == 1;
  TIFFClose(tiff);
  if (!good) return std::nullopt;
  for (size_t i = 0; i < pixels.size(); ++i) {
    image->rgb[3 * i] = uint8_t(TIFFGetR(pixels[i]));
    image->rgb[3 * i + 1] = uint8_t(TIFFGetG(pixels[i]));
    image->rgb[3 * i + 2] = uint8_t(TIFFGetB(pixels[i]));
  }
  return image;
}

}  // namespace sdx::image
#endif
