// JPEG 2000 through OpenJPEG: greys and colours, in RGB or its own luma and chroma.
#ifdef SDX_WITH_JPEG2000
#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "ops/image/decode.h"

namespace sdx::image {
namespace {

struct Memory {
  Bytes bytes;
  size_t at = 0;
};

OPJ_SIZE_T read(void* to, OPJ_SIZE_T count, void* user) {
  auto& m = *static_cast<Memory*>(user);
  const size_t n = std::min<size_t>(count, m.bytes.size() - m.at);
  if (n == 0) return OPJ_SIZE_T(-1);
  std::memcpy(to, m.bytes.data() + m.at, n);
  m.at += n;
  return n;
}
OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
  auto& m = *static_cast<Memory*>(user);
  if (to < 0 || uint64_t(to) > m.bytes.size()) return OPJ_FALSE;
  m.at = size_t(to);
  return OPJ_TRUE;
}
OPJ_OFF_T skip(OPJ_OFF_T by, void* user) {
  auto& m = *static_cast<Memory*>(user);
  return seek(OPJ_OFF_T(m.at) + by, user) == OPJ_TRUE ? by : -1;
}

// Codec and stream are both void to OpenJPEG.
struct FreeCodec {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct FreeStream {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct FreeImage {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

// A sample as 8 bits.
int scaled(const opj_image_comp_t& component, size_t i) {
  const int value = component.data[i] + (component.sgnd != 0 ? 1 << (component.prec - 1) : 0);
  const int narrow = component.prec > 8 ? value >> (component.prec - 8)
                                        : value * 255 / ((1 << component.prec) - 1);
  return std::clamp(narrow, 0, 255);
}

bool usable(const opj_image_t& image) {
  if (image.numcomps < 1) return false;
  for (size_t c = 0; c < std::min<size_t>(image.numcomps, 3); ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.data == nullptr || component.prec < 1 || component.prec > 16 ||
        component.w != image.comps[0].w || component.h != image.comps[0].h) {
      return false;
    }
  }
  return true;
}

}  // namespace

Decoded decode_jpeg2000(Bytes bytes) {
  Memory memory{bytes};
  const bool raw = bytes[0] == 0xff;
  const std::unique_ptr<opj_codec_t, FreeCodec> codec(
      opj_create_decompress(raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  const std::unique_ptr<opj_stream_t, FreeStream> stream(opj_stream_default_create(OPJ_TRUE));
  opj_stream_set_user_data(stream.get(), &memory, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), read);
  opj_stream_set_seek_function(stream.get(), seek);
  opj_stream_set_skip_function(stream.get(), skip);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  if (opj_setup_decoder(codec.get(), &parameters) == OPJ_FALSE ||
      opj_read_header(stream.get(), codec.get(), &header) == OPJ_FALSE) {
    return std::nullopt;
  }
  const std::unique_ptr<opj_image_t, FreeImage> source(header);
  Decoded image = blank(int64_t(header->y1) - header->y0, int64_t(header->x1) - header->x0);
  if (!image || opj_decode(codec.get(), stream.get(), header) == OPJ_FALSE || !usable(*header) ||
      header->comps[0].w != uint64_t(image->width) ||
      header->comps[0].h != uint64_t(image->height)) {
    return std::nullopt;
  }
  const bool colour = header->numcomps >= 3, luma = header->color_space == OPJ_CLRSPC_SYCC;
  for (size_t i = 0; i < size_t(image->width * image->height); ++i) {
    uint8_t* rgb = image->rgb.data() + 3 * i;
    int value[3];
    for (size_t c = 0; c < 3; ++c) value[c] = scaled(header->comps[colour ? c : 0], i);
    if (colour && luma) {
      const double y = value[0], cb = value[1] - 128, cr = value[2] - 128;
      const double mixed[3] = {y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb};
      for (size_t c = 0; c < 3; ++c) {
        value[c] = int(std::clamp(std::nearbyint(mixed[c]), 0.0, 255.0));
      }
    }
    for (size_t c = 0; c < 3; ++c) rgb[c] = uint8_t(value[c]);
  }
  return image;
}

}  // namespace sdx::image
#endif
