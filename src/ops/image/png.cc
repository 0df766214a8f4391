// PNG through libpng: palettes and greys become colours, 16 bits become 8, alpha and gamma are left
// out.
#ifdef SDX_WITH_PNG
#include <png.h>

#include <cstring>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

// What libpng leaves by longjmp holds nothing that a destructor would have to free.
bool read(png_structp png, png_infop info, Bytes& left, Decoded& image, png_bytep* rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &left, [](png_structp from, png_bytep to, size_t count) {
    auto& bytes = *static_cast<Bytes*>(png_get_io_ptr(from));
    if (count > bytes.size()) png_error(from, "the file ends early");
    std::memcpy(to, bytes.data(), count);
    bytes = bytes.subspan(count);
  });
  png_read_info(png, info);
  image = blank(png_get_image_height(png, info), png_get_image_width(png, info));
  if (!image) return false;
  png_set_strip_16(png);
  png_set_expand(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const size_t stride = size_t(image->width) * 3;
  if (png_get_rowbytes(png, info) != stride) return false;
  const int passes = png_get_interlace_type(png, info) == PNG_INTERLACE_NONE ? 1 : 7;
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < image->height; ++y) {
      *rows = image->rgb.data() + size_t(y) * stride;
      png_read_row(png, *rows, nullptr);
    }
  }
  return true;
}

}  // namespace

Decoded decode_png(Bytes bytes) {
  const auto stop = [](png_structp png, png_const_charp) { png_longjmp(png, 1); };
  const auto ignore = [](png_structp, png_const_charp) {};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, stop, ignore);
  if (png == nullptr) return std::nullopt;
  png_infop info = png_create_info_struct(png);
  Decoded image;
  png_bytep row = nullptr;
  const bool good = info != nullptr && read(png, info, bytes, image, &row);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!good) return std::nullopt;
  return image;
}

}  // namespace sdx::image
#endif
