// TIFF through libtiff's conversion to RGBA: the first page; transparency is dropped.
#ifdef SDX_WITH_TIFF
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

constexpr tmsize_t kMostMemory = tmsize_t{1} << 30;  // in one piece

struct File {
  Encoded bytes;
  size_t at = 0;
};

tmsize_t read_bytes(thandle_t handle, void* into, tmsize_t count) {
  File& file = *static_cast<File*>(handle);
  if (count <= 0 || file.at >= file.bytes.size()) return 0;
  const size_t got = std::min(size_t(count), file.bytes.size() - file.at);
  std::memcpy(into, file.bytes.data() + file.at, got);
  file.at += got;
  return tmsize_t(got);
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  File& file = *static_cast<File*>(handle);
  const toff_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at : file.bytes.size();
  file.at = size_t(base + offset);  // beyond the end nothing is read
  return file.at;
}

// The first error is the cause, later ones its consequences.
int note(TIFF*, void* reason, const char*, const char* format, va_list args) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, args);
  Reason& into = *static_cast<Reason*>(reason);
  if (into.text[0] == 0) into.set(text);
  return 1;
}
int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Close {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
struct Free {
  void operator()(uint32_t* raster) const { std::free(raster); }
};

std::unique_ptr<TIFF, Close> open(File& file, Reason& reason) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMostMemory);
  TIFFOpenOptionsSetErrorHandlerExtR(options, note, &reason);
  TIFFOpenOptionsSetWarningHandlerExtR(options, ignore, nullptr);
  TIFF* tiff = TIFFClientOpenExt(
      "", "rm", &file, read_bytes, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, seek,
      [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<File*>(handle)->bytes.size(); }, nullptr,
      nullptr, options);
  TIFFOpenOptionsFree(options);
  return std::unique_ptr<TIFF, Close>(tiff);
}

}  // namespace

Result<Picture> decode_tiff(Encoded bytes) {
  constexpr std::string_view kName = "TIFF";
  File file{bytes};
  Reason reason;
  const auto tiff = open(file, reason);
  if (tiff == nullptr) return broken(kName, reason.or_else("bad header"));
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  SDX_ASSIGN(Picture picture, make_picture(kName, width, height, 3));

  // libtiff multiplies colours by an alpha that is not multiplied in yet; called multiplied, they
  // stay.
  uint16_t extra = 0, *kinds = nullptr;
  if (TIFFGetField(tiff.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds) && extra > 0 &&
      kinds[0] == EXTRASAMPLE_UNASSALPHA) {
    std::vector<uint16_t> multiplied(kinds, kinds + extra);
    multiplied[0] = EXTRASAMPLE_ASSOCALPHA;
    TIFFSetField(tiff.get(), TIFFTAG_EXTRASAMPLES, extra, multiplied.data());
  }
  const size_t count = picture.width * picture.height;
  const std::unique_ptr<uint32_t, Free> raster(
      static_cast<uint32_t*>(std::malloc(count * sizeof(uint32_t))));
  if (raster == nullptr) return broken(kName, "not enough memory");
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.get(), ORIENTATION_TOPLEFT, 1)) {
    return broken(kName, reason.or_else("bad data"));
  }
  uint8_t* rgb = picture.pixels.get();
  for (size_t i = 0; i < count; ++i) {
    const uint32_t pixel = raster.get()[i];
    rgb[3 * i] = uint8_t(TIFFGetR(pixel));
    rgb[3 * i + 1] = uint8_t(TIFFGetG(pixel));
    rgb[3 * i + 2] = uint8_t(TIFFGetB(pixel));
  }
  return picture;
}

}  // namespace sdx::image
#endif
