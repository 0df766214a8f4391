// JPEG 2000 through OpenJPEG, as a JP2 file or a bare code stream; transparency is dropped.
#ifdef SDX_WITH_JPEG2000
#include <openjpeg.h>

#include <algorithm>
#include <cstring>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

constexpr std::string_view kName = "JPEG 2000";

template <auto kDestroy>
struct With {
  template <class T>
  void operator()(T* it) const {
    kDestroy(it);
  }
};
using Stream = std::unique_ptr<opj_stream_t, With<opj_stream_destroy>>;
using Codec = std::unique_ptr<opj_codec_t, With<opj_destroy_codec>>;
using Image = std::unique_ptr<opj_image_t, With<opj_image_destroy>>;

struct File {
  Encoded bytes;
  size_t at = 0;
};

OPJ_SIZE_T read_bytes(void* into, OPJ_SIZE_T count, void* user) {
  File& file = *static_cast<File*>(user);
  if (file.at >= file.bytes.size()) return OPJ_SIZE_T(-1);
  const size_t got = std::min(count, file.bytes.size() - file.at);
  std::memcpy(into, file.bytes.data() + file.at, got);
  file.at += got;
  return got;
}
OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
  File& file = *static_cast<File*>(user);
  if (to < 0 || uint64_t(to) > file.bytes.size()) return OPJ_FALSE;
  file.at = size_t(to);
  return OPJ_TRUE;
}
OPJ_OFF_T skip(OPJ_OFF_T count, void* user) {
  File& file = *static_cast<File*>(user);
  return seek(OPJ_OFF_T(file.at) + count, user) ? count : -1;
}

// The first error is the cause, later ones its consequences. Messages end with a line break.
void note(const char* message, void* user) {
  Reason& reason = *static_cast<Reason*>(user);
  std::string_view text(message);
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (reason.text[0] == 0) reason.set(text);
}
void ignore(const char*, void*) {}

// One component's sample that covers the pixel (x, y) of the picture, as 8 bits.
int sample(const opj_image_t& image, const opj_image_comp_t& plane, size_t x, size_t y) {
  const auto index = [](size_t at, size_t step, size_t first, size_t count) {
    return std::min(at / step - std::min(at / step, first), count - 1);
  };
  const size_t px = index(image.x0 + x, plane.dx, plane.x0, plane.w);
  const size_t py = index(image.y0 + y, plane.dy, plane.y0, plane.h);
  const int64_t value =
      int64_t(plane.data[py * plane.w + px]) + (plane.sgnd ? int64_t{1} << (plane.prec - 1) : 0);
  const int64_t wide = plane.prec > 8 ? value >> (plane.prec - 8) : value << (8 - plane.prec);
  return int(std::clamp<int64_t>(wide, 0, 255));
}

// JFIF's conversion in 16-bit fixed point, rounded.
void ycc_to_rgb(uint8_t* pixel) {
  const int y = pixel[0], b = pixel[1] - 128, r = pixel[2] - 128;
  const auto clip = [](int value) { return uint8_t(std::clamp(value, 0, 255)); };
  pixel[0] = clip(y + ((91881 * r + 32768) >> 16));
  pixel[1] = clip(y + ((-22554 * b - 46802 * r + 32768) >> 16));
  pixel[2] = clip(y + ((116130 * b + 32768) >> 16));
}

Status check(const opj_image_t& image) {
  const uint64_t width = image.x1 - uint64_t{image.x0}, height = image.y1 - uint64_t{image.y0};
  if (image.x1 <= image.x0 || image.y1 <= image.y0) return broken(kName, "it has no pixels");
  // Every component is decoded to 32 bits, wanted or not.
  if (image.numcomps == 0 || width > kMostPixels / image.numcomps / height) {
    return broken(kName, fmt::format("{} x {} pixels of {} components, more than {} samples", width,
                                     height, image.numcomps, kMostPixels));
  }
  for (uint32_t c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& plane = image.comps[c];
    if (plane.prec == 0 || plane.prec > 31 || plane.dx == 0 || plane.dy == 0) {
      return broken(kName, fmt::format("component {} has {} bits and a step of {} x {}", c,
                                       plane.prec, plane.dx, plane.dy));
    }
  }
  return ok();
}

Result<Image> decode(Encoded bytes) {
  const bool bare = bytes.size() > 0 && bytes[0] == std::byte{0xff};
  File file{bytes};
  Reason reason;
  const Stream stream(opj_stream_create(1 << 16, OPJ_TRUE));
  const Codec codec(opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (stream == nullptr || codec == nullptr) return broken(kName, "not enough memory");
  opj_stream_set_read_function(stream.get(), read_bytes);
  opj_stream_set_seek_function(stream.get(), seek);
  opj_stream_set_skip_function(stream.get(), skip);
  opj_stream_set_user_data(stream.get(), &file, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_set_error_handler(codec.get(), note, &reason);
  opj_set_warning_handler(codec.get(), ignore, nullptr);
  opj_set_info_handler(codec.get(), ignore, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* made = nullptr;
  const bool header = opj_setup_decoder(codec.get(), &parameters) &&
                      opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) &&
                      opj_read_header(stream.get(), codec.get(), &made);
  Image image(made);
  if (!header || image == nullptr) return broken(kName, reason.or_else("bad header"));
  SDX_TRY(check(*image));
  if (!opj_decode(codec.get(), stream.get(), image.get())) {
    return broken(kName, reason.or_else("bad data"));
  }
  if (!opj_end_decompress(codec.get(), stream.get())) {
    return broken(kName, reason.or_else("the data ends early"));
  }
  SDX_TRY(check(*image));  // a palette makes components of its own
  return image;
}

}  // namespace

Result<Picture> decode_jpeg2000(Encoded bytes) {
  SDX_ASSIGN(const Image image, decode(bytes));
  const size_t channels = image->numcomps >= 3 ? 3 : 1;
  for (size_t c = 0; c < channels; ++c) {
    const opj_image_comp_t& plane = image->comps[c];
    if (plane.data == nullptr || plane.w == 0 || plane.h == 0) {
      return broken(kName, fmt::format("component {} has no samples", c));
    }
  }
  SDX_ASSIGN(Picture picture,
             make_picture(kName, image->x1 - image->x0, image->y1 - image->y0, channels));
  const bool ycc = channels == 3 && image->color_space == OPJ_CLRSPC_SYCC;
  for (size_t y = 0; y < picture.height; ++y) {
    for (size_t x = 0; x < picture.width; ++x) {
      uint8_t* pixel = picture.row(y) + x * channels;
      for (size_t c = 0; c < channels; ++c)
        pixel[c] = uint8_t(sample(*image, image->comps[c], x, y));
      if (ycc) ycc_to_rgb(pixel);
    }
  }
  return picture;
}

}  // namespace sdx::image
#endif
