// PNG through libpng: no gamma, no background; transparency is dropped, of 16 bits the high 8 stay.
#ifdef SDX_WITH_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

// libpng reports errors by longjmp: the functions that call it own nothing but what lies here.
struct Job {
  Encoded rest;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape;
  Reason reason;

  ~Job() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void give_up(png_structp png, png_const_charp what) {
  Job& job = *static_cast<Job*>(png_get_error_ptr(png));
  job.reason.set(what);
  std::longjmp(job.escape, 1);
}

void read_bytes(png_structp png, png_bytep into, size_t count) {
  Job& job = *static_cast<Job*>(png_get_io_ptr(png));
  if (count > job.rest.size()) give_up(png, "the data ends early");
  std::memcpy(into, job.rest.data(), count);
  job.rest = job.rest.subspan(count);
}

bool read_header(Job& job) {
  if (setjmp(job.escape) != 0) return false;
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, give_up,
                                   [](png_structp, png_const_charp) {});
  if (job.png == nullptr) return false;
  job.info = png_create_info_struct(job.png);
  if (job.info == nullptr) return false;
  png_set_user_limits(job.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // make_picture has its own
  png_set_read_fn(job.png, &job, read_bytes);
  png_read_info(job.png, job.info);
  return true;
}

bool prepare(Job& job) {
  if (setjmp(job.escape) != 0) return false;
  const int type = png_get_color_type(job.png, job.info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(job.png);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(job.png);
  png_set_strip_16(job.png);
  png_set_strip_alpha(job.png);
  png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.info);
  return true;
}

bool read_rows(Job& job, uint8_t* pixels, size_t stride, size_t height) {
  if (setjmp(job.escape) != 0) return false;
  const bool interlaced = png_get_interlace_type(job.png, job.info) != PNG_INTERLACE_NONE;
  for (int pass = 0; pass < (interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1); ++pass) {
    for (size_t y = 0; y < height; ++y) png_read_row(job.png, pixels + y * stride, nullptr);
  }
  return true;
}

}  // namespace

Result<Picture> decode_png(Encoded file) {
  constexpr std::string_view kName = "PNG";
  Job job{.rest = file, .escape = {}, .reason = {}};
  if (!read_header(job)) return broken(kName, job.reason.or_else("bad header"));
  const bool coloured = (png_get_color_type(job.png, job.info) & PNG_COLOR_MASK_COLOR) != 0;
  SDX_ASSIGN(Picture picture,
             make_picture(kName, png_get_image_width(job.png, job.info),
                          png_get_image_height(job.png, job.info), coloured ? 3 : 1));
  if (!prepare(job)) return broken(kName, job.reason.or_else("bad header"));
  if (png_get_rowbytes(job.png, job.info) != picture.stride()) {
    return broken(kName, "unexpected sample layout");
  }
  if (!read_rows(job, picture.pixels.get(), picture.stride(), picture.height)) {
    return broken(kName, job.reason.or_else("bad data"));
  }
  return picture;
}

}  // namespace sdx::image
#endif
