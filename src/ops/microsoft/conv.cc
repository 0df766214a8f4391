// Convolutions and poolings: with what an optimiser has fused into them, and with channels last.
#include "ops/microsoft/images.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kFusedConvHistory[] = {
    {1,
     "(X: T, W: T, B?: T, Z?: T) -> (Y: T) {activation: string, activation_params: floats, "
     "auto_pad: string = \"NOTSET\", dilations: ints, group: int = 1, kernel_shape: ints, pads: "
     "ints, strides: ints} T in floats"}};
constexpr Version kNhwcFusedConvHistory[] = {
    {1,
     "(X: T, W: T, B?: T, Z?: T) -> (Y: T) {activation: string, activation_params: floats, "
     "auto_pad: string = \"NOTSET\", dilations: ints, group: int = 1, kernel_shape: ints, pads: "
     "ints, strides: ints} T in f16 f32"}};
constexpr Version kNhwcConvHistory[] = {
    {1,
     "(X: T, W: T, B?: T) -> (Y: T) {auto_pad: string = \"NOTSET\", dilations: ints, group: int = "
     "1, kernel_shape: ints, pads: ints, strides: ints} T in floats"}};
constexpr Version kNhwcMaxPoolHistory[] = {
    {1,
     "(x: T) -> (y: T) {auto_pad: string = \"NOTSET\", ceil_mode: int = 0, dilations: ints, "
     "kernel_shape!: ints, pads: ints, strides: ints} T in i8 u8"}};

Wire activated_by(Composer& c, Wire x) {
  const Node& node = c.node();
  const std::string name = node.has("activation") ? node.s("activation") : std::string();
  std::vector<float> params;
  if (node.has("activation_params")) params = node.get<std::vector<float>>("activation_params");
  return activated(c, x, name, std::move(params));
}

// activation(Conv(X, W, B) + Z)
Result<Wires> compose_fused_conv(Composer& c) {
  Wire y = c.add(conv, {c.in(0), c.in(1), c.in(2)}, window_attributes(c.node()));
  if (c.has(3)) y = c.add(add, {y, c.in(3)});
  return Wires{activated_by(c, y)};
}

Result<Wires> compose_nhwc_conv(Composer& c) {
  const Wire x = channels_first(c, c.in(0));
  Wire y = c.add(conv, {x, c.in(1), c.in(2)}, window_attributes(c.node()));
  y = channels_last(c, y);
  if (c.has(3)) y = c.add(add, {y, c.in(3)});
  return Wires{activated_by(c, y)};
}

Result<Wires> compose_nhwc_max_pool(Composer& c) {
  const Wire x = channels_first(c, c.in(0));
  return Wires{channels_last(c, c.add(max_pool, {x}, window_attributes(c.node())))};
}

std::vector<Case> cases_fused_conv() {
  return {
      {.name = "a_sum_and_a_clip",
       .opset = 1,
       .attrs = {{"activation", std::string("Clip")},
                 {"activation_params", std::vector<float>{0, 6}}},
       .inputs = {Tensor::of<float>({1, 1, 1, 2}, {1, -2}), Tensor::of<float>({1, 1, 1, 1}, {2}),
                  Tensor::of<float>({1}, {3}), Tensor::of<float>({1, 1, 1, 2}, {10, 0})},
       .expected = {Tensor::of<float>({1, 1, 1, 2}, {6, 0})}},
      {.name = "padded_with_a_leaky_activation",
       .opset = 1,
       .attrs = {{"activation", std::string("LeakyRelu")},
                 {"activation_params", std::vector<float>{.1f}},
                 {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
       .inputs = {noise({1, 20, 9, 9}), noise({24, 20, 3, 3}, 2), noise({24}, 3)}}};
}
std::vector<Case> cases_nhwc_conv() {
  return {{.name = "two_pixels_of_two_channels",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
                      Tensor::of<float>({1, 2, 1, 1}, {1, 10})},
           .expected = {Tensor::of<float>({1, 1, 2, 1}, {21, 43})}},
          {.name = "with_strides_and_groups",
           .opset = 1,
           .attrs = {{"strides", std::vector<int64_t>{2, 2}}, {"group", int64_t{2}}},
           .inputs = {noise({2, 9, 9, 8}), noise({6, 4, 3, 3}, 2), noise({6}, 3)}}};
}
std::vector<Case> cases_nhwc_max_pool() {
  return {{.name = "of_bytes",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{1, 2}}},
           .inputs = {Tensor::of<uint8_t>({1, 1, 2, 2}, {1, 200, 3, 4})},
           .expected = {Tensor::of<uint8_t>({1, 1, 1, 2}, {3, 200})}},
          {.name = "signed_and_padded",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise(DType::i8, {1, 9, 9, 5}, 1, -128, 128)}}};
}

constexpr OpOf<Composition> kFusedConv = composed<compose_fused_conv>(
    kDomain, "FusedConv", "Conv, plus Z, and an activation.", kFusedConvHistory, cases_fused_conv);
constexpr OpOf<Composition> kNhwcConv =
    composed<compose_nhwc_conv>(kDomain, "NhwcConv", "Conv of images whose channels lie last.",
                                kNhwcConvHistory, cases_nhwc_conv);
constexpr OpOf<Composition> kNhwcFusedConv = composed<compose_nhwc_conv>(
    kDomain, "NhwcFusedConv", "Conv of images whose channels lie last, plus Z, and an activation.",
    kNhwcFusedConvHistory, cases_nhwc_conv);
constexpr OpOf<Composition> kNhwcMaxPool = composed<compose_nhwc_max_pool>(
    kDomain, "NhwcMaxPool", "MaxPool of images of bytes whose channels lie last.",
    kNhwcMaxPoolHistory, cases_nhwc_max_pool);

}  // namespace

extern const Op fused_conv = erase<kFusedConv>();
extern const Op nhwc_conv = erase<kNhwcConv>();
extern const Op nhwc_fused_conv = erase<kNhwcFusedConv>();
extern const Op nhwc_max_pool = erase<kNhwcMaxPool>();

}  // namespace sdx::ops::microsoft
