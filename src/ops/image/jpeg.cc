// JPEG through libjpeg, with its accurate transform and smooth chroma, as ONNX asks.
#ifdef SDX_WITH_JPEG
// jpeglib.h needs what <cstdio> declares.
// clang-format off
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf back;
};

// What libjpeg leaves by longjmp holds nothing that a destructor would have to free.
bool read(jpeg_decompress_struct& info, Failure& failure, Bytes bytes, Decoded& image) {
  if (setjmp(failure.back) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, const_cast<uint8_t*>(bytes.data()), static_cast<unsigned long>(bytes.size()));
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK) return false;
  const bool four = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  if (four) return false;
  info.out_color_space = JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  image = blank(info.output_height, info.output_width);
  if (!image || info.output_components != 3) return false;
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image->rgb.data() + size_t(info.output_scanline) * info.output_width * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

Decoded decode_jpeg(Bytes bytes) {
  jpeg_decompress_struct info{};
  Failure failure{};
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = [](j_common_ptr common) {
    std::longjmp(reinterpret_cast<Failure*>(common->err)->back, 1);
  };
  failure.manager.output_message = [](j_common_ptr) {};
  Decoded image;
  const bool good = read(info, failure, bytes, image);
  jpeg_destroy_decompress(&info);
  if (!good) return std::nullopt;
  return image;
}

}  // namespace sdx::image
#endif
