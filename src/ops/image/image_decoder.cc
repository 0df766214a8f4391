// ImageDecoder.
#include "ops/common.h"
#include "ops/image/decode.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

enum class Pixels { rgb, bgr, grey };

struct ImageDecoder {
  Pixels pixels;
};

constexpr Version kHistory[] = {
    {20, "(encoded_stream: T1) -> (image: T2) {pixel_format: string = \"RGB\"} T1 in u8 T2 in u8"}};

Result<ImageDecoder> read(const Node& node, const Facts&) {
  const std::string& format = node.s("pixel_format");
  if (format == "RGB") return ImageDecoder{Pixels::rgb};
  if (format == "BGR") return ImageDecoder{Pixels::bgr};
  if (format == "Grayscale") return ImageDecoder{Pixels::grey};
  return fail("SDX-T0690", "pixel_format is \"{}\", expected RGB, BGR or Grayscale", format);
}

Result<Facts> infer(const ImageDecoder& a, const Facts&) {
  const Dim channels = a.pixels == Pixels::grey ? 1 : 3;
  return Facts{Fact::tensor(DType::u8, {Dim::unknown(), Dim::unknown(), channels})};
}

// Grey is (19595 R + 38470 G + 7471 B) / 65536, rounded; of R = G = B it is that.
Status reference(const ImageDecoder& a, Args& args) {
  const View& x = args.in(0);
  const int64_t channels = a.pixels == Pixels::grey ? 1 : 3;
  Result<image::Picture> decoded = image::decode_image({x.data<const std::byte>(), x.count});
  if (!decoded) {
    // ONNX: what cannot be decoded gives an empty image. A format that this build lacks is no such
    // thing.
    if (decoded.error().code == "SDX-R0690") return std::move(decoded).error();
    SDX_TRY(output(args, 0, {0, 0, channels}));
    return ok();
  }
  const image::Picture& picture = *decoded;
  SDX_ASSIGN(const View y,
             output(args, 0, {int64_t(picture.height), int64_t(picture.width), channels}));
  auto* to = y.data<uint8_t>();
  const size_t last = picture.channels - 1;
  for (size_t i = 0; i < picture.width * picture.height; ++i) {
    const uint8_t* from = picture.pixels.get() + i * picture.channels;
    const uint8_t rgb[] = {from[0], from[last / 2], from[last]};
    if (a.pixels == Pixels::grey) {
      *to++ = uint8_t((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
    } else {
      for (size_t c = 0; c < 3; ++c) *to++ = rgb[a.pixels == Pixels::bgr ? 2 - c : c];
    }
  }
  return ok();
}

Tensor file(std::string_view text) {
  return Tensor::of<uint8_t>(
      {int64_t(text.size())},
      std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

std::vector<Case> cases() {
  using namespace std::string_view_literals;
  const auto with = [](std::string name, std::string format, std::string_view bytes, Tensor image) {
    return Case{.name = std::move(name),
                .opset = 20,
                .attrs = {{"pixel_format", std::move(format)}},
                .inputs = {file(bytes)},
                .expected = {std::move(image)}};
  };
  return {
      with("damaged_files_are_empty", "RGB", "P6\n9 9 255\n?", Tensor::make(DType::u8, {0, 0, 3})),
      with("pixels_as_text", "BGR", "P3 # two\n1 2 15\n15 0 5\n0 1 2",
           Tensor::of<uint8_t>({2, 1, 3}, {85, 0, 255, 34, 17, 0})),
      with("bits", "Grayscale", "P4\n3 1\n\x40"sv, Tensor::of<uint8_t>({1, 3, 1}, {255, 0, 255})),
      with("a_bitmap_from_its_last_row", "RGB",
           "BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\1\0\2\0\1\0\x18\0\1\2\3\0\4\5\6\0"sv,
           Tensor::of<uint8_t>({2, 1, 3}, {6, 5, 4, 3, 2, 1})),
      with("greys_have_three_equal_channels", "RGB", "P2 1 1 100 50",
           Tensor::of<uint8_t>({1, 1, 3}, {128, 128, 128}))};
}

constexpr OpOf<ImageDecoder> kImageDecoder{
    .name = "ImageDecoder",
    .doc = "The pixels of an image file.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

const Op image_decoder = erase<kImageDecoder>();

}  // namespace sdx::ops
