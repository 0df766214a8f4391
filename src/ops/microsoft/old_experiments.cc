// Operators of ai.onnx that were experiments before version 10 and are found in models of that
// time.
#include <algorithm>
#include <limits>

#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kAffineHistory[] = {
    {1, "(X: T) -> (Y: T) {alpha: float = 1, beta: float = 0} T in floats experimental"},
    {10, "deprecated"}};
constexpr Version kScaleHistory[] = {
    {1, "(input: T) -> (output: T) {scale: float = 1} T in floats experimental"},
    {10, "deprecated"}};
constexpr Version kSoftplusHistory[] = {
    {1, "(X: T) -> (Y: T) {alpha!: float, beta!: float} T in floats experimental"},
    {10, "deprecated"}};
constexpr Version kScaledTanhHistory[] = {
    {1, "(input: T) -> (output: T) {alpha!: float, beta!: float} T in floats experimental"},
    {10, "deprecated"}};
constexpr Version kImageScalerHistory[] = {
    {1, "(input: T) -> (output: T) {bias!: floats, scale: float = 1} T in floats experimental"},
    {10, "deprecated"}};
constexpr Version kCropHistory[] = {
    {1, "(input: T) -> (output: T) {border!: ints, scale: ints} T in floats experimental"},
    {10, "deprecated"}};
constexpr Version kDynamicSliceHistory[] = {
    {1,
     "(data: T, starts: Tind, ends: Tind, axes?: Tind) -> (output: T) T in all Tind in i32 i64 "
     "experimental"},
    {10, "deprecated"}};

Wire times(Composer& c, Wire x, float factor) {
  return c.add(mul, {x, c.number(c.fact(x).type, double(factor))});
}

// (alpha * x) + beta
Result<Wires> compose_affine(Composer& c) {
  const Wire y = times(c, c.in(0), c.node().f("alpha"));
  return Wires{c.add(add, {y, c.number(c.fact(y).type, double(c.node().f("beta")))})};
}

Result<Wires> compose_scale(Composer& c) { return Wires{times(c, c.in(0), c.node().f("scale"))}; }

// alpha * softplus(beta * x)
Result<Wires> compose_softplus(Composer& c) {
  const Wire x = times(c, c.in(0), c.node().f("beta"));
  return Wires{times(c, c.add(softplus, {x}), c.node().f("alpha"))};
}

// alpha * tanh(beta * x)
Result<Wires> compose_scaled_tanh(Composer& c) {
  const Wire x = times(c, c.in(0), c.node().f("beta"));
  return Wires{times(c, c.add(tanh, {x}), c.node().f("alpha"))};
}

bool is_image(Composer& c) {
  return c.require(c.fact(c.in(0)).rank() == 4, "SDX-T1056",
                   "the input is {}; it must have 4 dimensions", c.fact(c.in(0)).text());
}

// (scale * x) + bias of the channel
Result<Wires> compose_image_scaler(Composer& c) {
  if (!is_image(c)) return Wires{};
  const auto& bias = c.node().get<std::vector<float>>("bias");
  const DType type = c.fact(c.in(0)).type;
  Tensor values = Tensor::make(type, {1, int64_t(bias.size()), 1, 1});
  for (size_t i = 0; i < bias.size(); ++i) set_f64(type, values.raw(), i, double(bias[i]));
  const Dim& channels = c.fact(c.in(0)).dim(1);
  c.require(!channels.is_const() || channels.is_const(int64_t(bias.size())), "SDX-T1094",
            "{} numbers of bias for {} channels", bias.size(), channels.text());
  const Wire y = times(c, c.in(0), c.node().f("scale"));
  return Wires{c.add(add, {y, c.constant(std::move(values))})};
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// border is left, top, right, bottom; scale, if given, height and width after left and top.
Result<Wires> compose_crop(Composer& c) {
  if (!is_image(c)) return Wires{};
  const std::vector<int64_t>& border = c.node().ints("border");
  const std::vector<int64_t> scale = c.node().ints_or_empty("scale");
  if (!c.require(border.size() == 4 && (scale.empty() || scale.size() == 2) &&
                     std::all_of(border.begin(), border.end(), [](int64_t b) { return b >= 0; }),
                 "SDX-T1095", "border has {} numbers and scale {}; expected 4, and none or 2",
                 border.size(), scale.size())) {
    return Wires{};
  }
  const int64_t height = c.size(c.in(0), 2, "the input"), width = c.size(c.in(0), 3, "the input");
  const int64_t left = border[0], top = border[1];
  // A sum that would pass 64 bits ends at the largest number, which is refused below.
  const auto end = [](int64_t begin, int64_t size) {
    return begin + std::min(size, kMost - begin);
  };
  const int64_t right = scale.empty() ? width - border[2] : end(left, scale[1]);
  const int64_t bottom = scale.empty() ? height - border[3] : end(top, scale[0]);
  if (!c.require(left <= right && top <= bottom && right <= width && bottom <= height, "SDX-T1095",
                 "rows {} to {} and columns {} to {} of an image of {} x {}", top, bottom, left,
                 right, height, width)) {
    return Wires{};
  }
  return Wires{
      c.add(slice, {c.in(0), c.ints({top, left}), c.ints({bottom, right}), c.ints({2, 3})})};
}

Result<Wires> compose_dynamic_slice(Composer& c) {
  return Wires{c.add(slice, {c.in(0), c.in(1), c.in(2), c.in(3)})};
}

std::vector<Case> cases_affine() {
  return {{.name = "a_line",
           .opset = 1,
           .attrs = {{"alpha", 2.f}, {"beta", 1.f}},
           .inputs = {Tensor::of<float>({2}, {1, -3})},
           .expected = {Tensor::of<float>({2}, {3, -5})}}};
}
std::vector<Case> cases_scale() {
  return {{.name = "halves",
           .opset = 1,
           .attrs = {{"scale", .5f}},
           .inputs = {Tensor::of<float>({2}, {1, -3})},
           .expected = {Tensor::of<float>({2}, {.5f, -1.5f})}}};
}
std::vector<Case> cases_softplus() {
  return {{.name = "a_line_far_away",
           .opset = 1,
           .attrs = {{"alpha", 2.f}, {"beta", 3.f}},
           .inputs = {Tensor::of<float>({1}, {50})},
           .expected = {Tensor::of<float>({1}, {300})}}};
}
std::vector<Case> cases_scaled_tanh() {
  return {{.name = "alpha_far_away",
           .opset = 1,
           .attrs = {{"alpha", 2.f}, {"beta", 3.f}},
           .inputs = {Tensor::of<float>({2}, {50, 0})},
           .expected = {Tensor::of<float>({2}, {2, 0})}}};
}
std::vector<Case> cases_image_scaler() {
  return {{.name = "a_bias_per_channel",
           .opset = 1,
           .attrs = {{"scale", 2.f}, {"bias", std::vector<float>{1, 10}}},
           .inputs = {Tensor::of<float>({1, 2, 1, 1}, {3, 4})},
           .expected = {Tensor::of<float>({1, 2, 1, 1}, {7, 18})}}};
}
std::vector<Case> cases_crop() {
  return {{.name = "the_middle",
           .opset = 1,
           .attrs = {{"border", std::vector<int64_t>{1, 0, 1, 0}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 3}, {1, 2, 3})},
           .expected = {Tensor::of<float>({1, 1, 1, 1}, {2})}},
          {.name = "a_size_after_the_corner",
           .opset = 1,
           .attrs = {{"border", std::vector<int64_t>{1, 0, 0, 0}},
                     {"scale", std::vector<int64_t>{1, 2}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 3}, {1, 2, 3})},
           .expected = {Tensor::of<float>({1, 1, 1, 2}, {2, 3})}}};
}
std::vector<Case> cases_dynamic_slice() {
  return {{.name = "the_end",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({3}, {1, 2, 3}), Tensor::of<int64_t>({1}, {-1}),
                      Tensor::of<int64_t>({1}, {1000})},
           .expected = {Tensor::of<float>({1}, {3})}}};
}

constexpr OpOf<Composition> kAffine = composed<compose_affine>(
    "", "Affine", "alpha * x + beta; of old models.", kAffineHistory, cases_affine);
constexpr OpOf<Composition> kScale =
    composed<compose_scale>("", "Scale", "scale * x; of old models.", kScaleHistory, cases_scale);
constexpr OpOf<Composition> kSoftplus = composed<compose_softplus>(
    "", "ParametricSoftplus", "alpha * softplus(beta * x); of old models.", kSoftplusHistory,
    cases_softplus);
constexpr OpOf<Composition> kScaledTanh =
    composed<compose_scaled_tanh>("", "ScaledTanh", "alpha * tanh(beta * x); of old models.",
                                  kScaledTanhHistory, cases_scaled_tanh);
constexpr OpOf<Composition> kImageScaler = composed<compose_image_scaler>(
    "", "ImageScaler", "scale * x, plus a bias per channel; of old models.", kImageScalerHistory,
    cases_image_scaler);
constexpr OpOf<Composition> kCrop = composed<compose_crop>(
    "", "Crop", "The middle of an image; of old models.", kCropHistory, cases_crop);
constexpr OpOf<Composition> kDynamicSlice =
    composed<compose_dynamic_slice>("", "DynamicSlice", "A piece of a tensor; of old models.",
                                    kDynamicSliceHistory, cases_dynamic_slice);

}  // namespace

extern const Op affine = erase<kAffine>();
extern const Op old_scale = erase<kScale>();
extern const Op parametric_softplus = erase<kSoftplus>();
extern const Op scaled_tanh = erase<kScaledTanh>();
extern const Op image_scaler = erase<kImageScaler>();
extern const Op crop = erase<kCrop>();
extern const Op dynamic_slice = erase<kDynamicSlice>();

}  // namespace sdx::ops::microsoft
