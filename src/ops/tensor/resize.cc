// Resize and Upsample.
#include "ops/tensor/resize.h"

#include <cmath>

#include "op/layout.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

using Mode = Resampling::Mode;
using Coordinates = Resampling::Coordinates;
using Nearest = Resampling::Nearest;

constexpr Version kResizeHistory[] = {
    {10, "(X: T, scales: f32) -> (Y: T) {mode: string = \"nearest\"} T in all"},
    {11,
     "(X: T1, roi: T2, scales: f32, sizes?: i64) -> (Y: T1) {coordinate_transformation_mode: "
     "string = "
     "\"half_pixel\", cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: "
     "float = 0, "
     "nearest_mode: string = \"round_prefer_floor\"} T1 in all T2 in floats -T"},
    {13, "(X: T1, roi?: T2, scales?: f32, sizes?: i64) T1 += bf16"},
    {18, "{antialias: int = 0, axes: ints, keep_aspect_ratio_policy: string = \"stretch\"}"},
    {19, ""},  // half_pixel_symmetric
};
constexpr Version kUpsampleHistory[] = {
    {1,
     "(X: T) -> (Y: T) {height_scale!: float, mode: string = \"nearest\", width_scale!: float} T "
     "in floats bool i32 "
     "i64 experimental"},
    {7, "{scales!: floats, -height_scale, -width_scale} T += uints c128 c64 i16 i8 string"},
    {9, "(X: T, scales: f32) {-scales}"},
    {10, "deprecated"},
};

template <class T, size_t N>
Result<T> pick(std::string_view attribute, const std::string& name,
               const std::pair<std::string_view, T> (&choices)[N]) {
  for (const auto& [word, value] : choices) {
    if (name == word) return value;
  }
  return fail("SDX-T0240", "{} \"{}\" is not defined", attribute, name);
}

constexpr std::pair<std::string_view, Mode> kModes[] = {{"nearest", Mode::nearest},
                                                        {"linear", Mode::linear},
                                                        {"bilinear", Mode::linear},
                                                        {"cubic", Mode::cubic}};
constexpr std::pair<std::string_view, Coordinates> kCoordinates[] = {
    {"half_pixel", Coordinates::half_pixel},
    {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
    {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
    {"align_corners", Coordinates::align_corners},
    {"asymmetric", Coordinates::asymmetric},
    {"tf_half_pixel_for_nn", Coordinates::half_pixel_for_nn},
    {"tf_crop_and_resize", Coordinates::crop}};
constexpr std::pair<std::string_view, Nearest> kNearest[] = {
    {"round_prefer_floor", Nearest::prefer_floor},
    {"round_prefer_ceil", Nearest::prefer_ceil},
    {"floor", Nearest::floor},
    {"ceil", Nearest::ceil}};
constexpr std::pair<std::string_view, Resize::Aspect> kAspects[] = {
    {"stretch", Resize::Aspect::stretch},
    {"not_larger", Resize::Aspect::not_larger},
    {"not_smaller", Resize::Aspect::not_smaller}};

Status check_type(const Resize& a, std::string_view name, DType type) {
  if (a.how.mode != Mode::nearest && type == DType::string) return unsupported_type(name, type);
  return ok();
}

Result<Resize> read_resize(const Node& node, const Facts& in) {
  Resize a;
  SDX_ASSIGN(a.how.mode, pick("mode", node.s("mode"), kModes));
  SDX_TRY(check_type(a, "Resize", in[0].type));
  a.scales_input = node.opset < 11 ? 1 : 2;
  if (node.opset < 11) {
    a.how.coordinates = Coordinates::asymmetric;
    a.how.nearest = Nearest::simple;
    return a;
  }
  a.roi_input = 1;
  a.sizes_input = 3;
  const auto given = [&](size_t i) -> std::optional<bool> {
    if (i >= in.size() || !in[i].present()) return false;
    if (!in[i].is_concrete()) return std::nullopt;  // an empty tensor is not given
    return !(product(*in[i].shape) == Dim(0));
  };
  const auto scales = given(2), sizes = given(3);
  if (scales && sizes && *scales == *sizes) {
    return fail("SDX-T0217", "{} of scales and sizes are given, expected one",
                *scales ? "both" : "none");
  }
  const std::string& place = node.s("coordinate_transformation_mode");
  SDX_ASSIGN(a.how.coordinates, pick("coordinate_transformation_mode", place, kCoordinates));
  SDX_ASSIGN(a.how.nearest, pick("nearest_mode", node.s("nearest_mode"), kNearest));
  a.how.cubic_a = node.f("cubic_coeff_a");
  a.how.exclude_outside = node.i("exclude_outside") != 0;
  a.how.antialias = node.i_or("antialias", 0) != 0;
  a.extrapolation = node.f("extrapolation_value");
  a.axes = attr_ints(node, "axes");
  if (node.has("keep_aspect_ratio_policy")) {
    SDX_ASSIGN(a.aspect,
               pick("keep_aspect_ratio_policy", node.s("keep_aspect_ratio_policy"), kAspects));
  }
  return a;
}

Result<Resize> read_upsample(const Node& node, const Facts& in) {
  Resize a;
  SDX_ASSIGN(a.how.mode, pick("mode", node.s("mode"), kModes));
  SDX_TRY(check_type(a, "Upsample", in[0].type));
  a.how.coordinates = Coordinates::asymmetric;
  a.how.nearest = Nearest::floor;
  if (node.opset >= 9) {
    a.scales_input = 1;
  } else if (node.opset >= 7) {
    a.scales = node.get<std::vector<float>>("scales");
  } else {
    a.scales = {node.f("height_scale"), node.f("width_scale")};
    a.axes = {2, 3};
  }
  return a;
}

// floor(dim * scale): for a symbolic size exact if the scale is a small fraction of a power of two.
Dim scaled(const Dim& dim, float scale) {
  if (dim.is_const()) return to_integer<int64_t>(std::floor(float(dim.value()) * scale));
  for (int64_t below = 1; below <= 256; below *= 2) {
    const float above = scale * float(below);
    if (above == std::floor(above) && above < 4096)
      return floor_div(dim * Dim(int64_t(above)), below);
  }
  return Dim::unknown();
}

// What is given for each axis is a list of as many numbers, or an empty one.
Status check_list(const Facts& in, size_t input, std::string_view name, size_t count) {
  if (input == 0 || input >= in.size() || !in[input].has_rank()) return ok();
  const Fact& list = in[input];
  if (list.rank() != 1)
    return fail("SDX-T0241", "{} is {}, expected a list of {}", name, list.text(), count);
  const Dim& size = list.dim(0);
  if (!size.is_const() || size.is_const(0) || size.is_const(int64_t(count))) return ok();
  return fail("SDX-T0241", "{} has {} elements, expected {}", name, size.value(), count);
}

Result<Facts> infer(const Resize& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  SDX_ASSIGN(const SmallInts axes, resized_axes(a, in[0].rank()));
  SDX_TRY(check_list(in, a.scales_input, "scales", axes.size()));
  SDX_TRY(check_list(in, a.sizes_input, "sizes", axes.size()));
  if (a.how.coordinates == Coordinates::crop)
    SDX_TRY(check_list(in, a.roi_input, "roi", 2 * axes.size()));
  const Wanted w = wanted(a, in);
  const bool scales_given =
      a.scales || (a.scales_input < in.size() && in[a.scales_input].present());
  if (!w.by_sizes && !scales_given) return fail("SDX-T0241", "neither scales nor sizes are given");
  const size_t given_count = w.sizes ? w.sizes->size() : w.scales ? w.scales->size() : axes.size();
  if (given_count != axes.size()) {
    return fail("SDX-T0241", "{} {} are given for {} axes", given_count,
                w.sizes ? "sizes" : "scales", axes.size());
  }
  Facts out{like(in[0])};
  const bool proportional = w.sizes && a.aspect != Resize::Aspect::stretch;
  const bool known = in[0].is_concrete() && w.sizes && constant_dims(*w.sizes);
  // What is cut out decides the size; it may be known only when it comes.
  const bool cut_out_later = a.how.coordinates == Coordinates::crop && a.roi_input != 0 &&
                             a.roi_input < in.size() && in[a.roi_input].present() && w.roi.empty();
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = (*out[0].shape)[size_t(axes[i])];
    const Dim before = dim;
    if (proportional) {
      dim =
          known
              ? Dim(to_integer<int64_t>(std::floor(
                    common_scale(a, in[0].dims(), axes, *w.sizes) * double(before.value()) + 0.5)))
              : Dim::unknown();
    } else if (w.sizes) {
      dim = (*w.sizes)[i];
    } else if (w.scales && !w.by_sizes && !cut_out_later) {
      float scale = (*w.scales)[i];
      if (!(scale > 0)) return fail("SDX-T0241", "the scale of axis {} is {}", axes[i], scale);
      if (a.how.coordinates == Coordinates::crop && w.roi.size() == 2 * axes.size()) {
        scale *= float(w.roi[axes.size() + i] - w.roi[i]);
      }
      dim = scaled(before, scale);
    } else {
      dim = Dim::unknown();
    }
    if (dim.is_const() && (dim.value() < 0 || (dim.value() > 0 && before.is_const(0)))) {
      return fail("SDX-T0241", "axis {} of size {} cannot become {}", axes[i], before.text(),
                  dim.value());
    }
  }
  return out;
}

constexpr Kernel<Resize> kKernels[] = {
    {"nearest", fits_resize_nearest, run_resize_nearest, nullptr, pack_resize},
    {"image_f32", fits_resize_image, run_resize_image, resize_image_scratch, pack_resize},
    {"image_narrow", fits_resize_narrow_image, run_resize_image, resize_image_scratch, pack_resize},
};

// A Resize that changes no size gives what it gets, but for the bits of a NaN.
bool changes_nothing(const Resize& a, const Relay& asked, const Wanted& w) {
  const Fact& x = asked.x();
  return x.is_concrete() && *x.shape == *asked.out[0].shape &&
         a.how.coordinates != Coordinates::crop &&
         (w.by_sizes || (w.scales && std::all_of(w.scales->begin(), w.scales->end(),
                                                 [](float scale) { return scale == 1; })));
}

// Scales and sizes of axes that keep their size are left out, or all stay and belong to the axes'
// new places.
std::optional<Relaid> layout(const Resize& a, const Relay& asked) {
  const Wanted w = wanted(a, asked.in);
  const auto axes = resized_axes(a, asked.layout.rank());
  if (asked.from != 0 || !axes || a.how.coordinates == Coordinates::crop ||
      !asked.out[0].has_rank())
    return std::nullopt;
  if (changes_nothing(a, asked, w)) {
    Relaid made = Relaid::same(asked);
    made.use.op = nullptr;
    made.canonical_nan = true;
    return made;
  }
  const auto sizes = w.sizes ? constant_dims(*w.sizes) : std::nullopt;
  if (a.scales_input != 2 || (w.by_sizes ? !sizes : !w.scales)) return std::nullopt;
  std::vector<int64_t> places, new_sizes, changed(asked.layout.rank(), -1);
  std::vector<float> scales;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = size_t((*axes)[i]);
    const bool kept = w.by_sizes ? asked.x().dim(axis).is_const((*sizes)[i]) : (*w.scales)[i] == 1;
    if (asked.layout.blocked == axis) {
      if (!kept || a.aspect != Resize::Aspect::stretch) return std::nullopt;
      continue;
    }
    places.push_back(int64_t(asked.layout.at(axis)));
    if (!kept) changed[axis] = places.back();
    if (w.by_sizes) new_sizes.push_back((*sizes)[i]);
    if (!w.by_sizes) scales.push_back((*w.scales)[i]);
  }
  // Axes are resized one after the other, in their order.
  std::erase(changed, -1);
  if (!std::is_sorted(changed.begin(), changed.end())) return std::nullopt;
  Relaid made = Relaid::newest(asked, *asked.use.op);
  made.use.attrs = asked.use.attrs;
  made.use.attrs["axes"] = places;
  made.inputs.push_back({.input = 1, .layout = {}});
  if (w.by_sizes) {
    made.inputs.push_back({.input = 2, .layout = {}});
    made.inputs.push_back(Operand::of(new_sizes));
  } else {
    made.inputs.push_back({.layout = {},
                           .constant = Tensor::of<float>({int64_t(scales.size())},
                                                         std::span(std::as_const(scales)))});
  }
  return made;
}

std::vector<Case> cases_resize() {
  const Tensor x = Tensor::of<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const float inf = std::numeric_limits<float>::infinity();
  return {
      {.name = "opset10_rounds_up_when_reducing",
       .opset = 10,
       .attrs = {},
       .inputs = {x, Tensor::of<float>({4}, {1, 1, 0.6f, 0.6f})},
       .expected = {Tensor::of<float>({1, 1, 1, 2}, {1, 3})}},
      {.name = "of_strings",
       .opset = 13,
       .attrs = {},
       .inputs = {Tensor::of<std::string>({2}, {"a", "b"}), Value(), Value(),
                  Tensor::of<int64_t>({1}, {3})},
       .expected = {Tensor::of<std::string>({3}, {"a", "a", "b"})}},
      {.name = "an_infinity_stays_where_it_is",
       .opset = 13,
       .attrs = {{"mode", std::string("linear")},
                 {"coordinate_transformation_mode", std::string("asymmetric")}},
       .inputs = {Tensor::of<float>({1, 2}, {0, inf}), Value(), Tensor::of<float>({2}, {1, 2})},
       .expected = {Tensor::of<float>({1, 4}, {0, inf, inf, inf})}},
      {.name = "bytes_are_rounded_to_even",
       .opset = 13,
       .attrs = {{"mode", std::string("linear")},
                 {"coordinate_transformation_mode", std::string("align_corners")}},
       .inputs = {Tensor::of<uint8_t>({2}, {1, 2}), Value(), Value(),
                  Tensor::of<int64_t>({1}, {3})},
       .expected = {Tensor::of<uint8_t>({3}, {1, 2, 2})}},
      {.name = "nearest_twice_as_large",
       .opset = 13,
       .attrs = {{"coordinate_transformation_mode", std::string("asymmetric")},
                 {"nearest_mode", std::string("floor")}},
       .inputs = {Tensor::of<float>({1, 1, 1, 5}, {1, 2, 3, 4, 5}), Value(),
                  Tensor::of<float>({4}, {1, 1, 2, 2})},
       .expected = {Tensor::of<float>(
           {1, 1, 2, 10}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5})}},
      {.name = "planes_of_bytes",
       .opset = 18,
       .attrs = {{"mode", std::string("cubic")}},
       .inputs = {noise(DType::u8, {2, 9, 37}, 1, 0, 256), Value(), Value(),
                  Tensor::of<int64_t>({3}, {2, 13, 21})}},
      {.name = "signed_bytes_with_channels_behind",
       .opset = 18,
       .attrs = {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{0, 1}}},
       .inputs = {noise(DType::i8, {9, 17, 3}, 1, -128, 128), Value(), Value(),
                  Tensor::of<int64_t>({2}, {4, 9})}},
      {.name = "planes_of_halves",
       .opset = 18,
       .attrs = {{"mode", std::string("linear")}, {"antialias", int64_t{1}}},
       .inputs = {noise(DType::f16, {2, 19, 37}), Value(), Value(),
                  Tensor::of<int64_t>({3}, {2, 7, 21})}},
      {.name = "channels_behind_rows_and_columns",
       .opset = 18,
       .attrs = {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 1}}},
       .inputs = {noise({2, 5, 4, 19}), Value(), Value(), Tensor::of<int64_t>({2}, {9, 3})}},
      {.name = "cubic_of_channels_last",
       .opset = 18,
       .attrs = {{"mode", std::string("cubic")}, {"axes", std::vector<int64_t>{0, 1}}},
       .inputs = {noise({5, 4, 19}), Value(), Tensor::of<float>({2}, {2.5f, 0.8f})}},
      {.name = "planes_of_the_same_size",
       .opset = 18,
       .attrs = {{"mode", std::string("cubic")}},
       .inputs = {noise({2, 3, 5, 7}), Value(), Value(), Tensor::of<int64_t>({4}, {2, 3, 5, 7})}},
      {.name = "the_same_size_keeps_what_is_no_number",
       .opset = 13,
       .attrs = {{"mode", std::string("linear")}},
       .inputs = {Tensor::of<float>({1, 1, 2, 2}, {-0.0f, inf, -inf, -NAN}), Value(), Value(),
                  Tensor::of<int64_t>({4}, {1, 1, 2, 2})},
       .expected = {Tensor::of<float>({1, 1, 2, 2}, {-0.0f, inf, -inf, NAN})}},
      {.name = "planes",
       .opset = 18,
       .attrs = {{"mode", std::string("linear")}},
       .inputs = {noise({2, 3, 5, 7}), Value(), Tensor::of<float>({4}, {1, 1, 3, 2.5f})}},
      {.name = "bilinear_downwards_and_upwards",
       .opset = 13,
       .attrs = {{"mode", std::string("linear")}},
       .inputs = {x, Value(), Value(), Tensor::of<int64_t>({4}, {1, 1, 3, 2})},
       .expected = {Tensor::of<float>({1, 1, 3, 2}, {1.5f, 3.5f, 3.5f, 5.5f, 5.5f, 7.5f})}}};
}
std::vector<Case> cases_upsample() {
  const Tensor x = Tensor::of<float>({1, 1, 1, 2}, {1, 3});
  return {
      {.name = "opset7_has_scales_as_an_attribute",
       .opset = 7,
       .attrs = {{"scales", std::vector<float>{1, 1, 2, 1}}},
       .inputs = {x},
       .expected = {Tensor::of<float>({1, 1, 2, 2}, {1, 3, 1, 3})}},
      {.name = "opset1_scales_height_and_width",
       .opset = 1,
       .attrs = {{"height_scale", 1.0f}, {"width_scale", 2.0f}, {"mode", std::string("bilinear")}},
       .inputs = {x},
       .expected = {Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 3})}}};
}

constexpr OpOf<Resize> kResize{
    .name = "Resize",
    .doc = "A tensor sampled at other sizes: nearest elements, or weighted means of neighbours.",
    .history = kResizeHistory,
    .read = read_resize,
    .infer = infer,
    .reference = resize_reference,
    .kernels = kKernels,
    .cases = cases_resize,
    .layout = layout,
    .stream = stream_resize,
};
constexpr OpOf<Resize> kUpsample{
    .name = "Upsample",
    .doc = "The older form of Resize.",
    .history = kUpsampleHistory,
    .read = read_upsample,
    .infer = infer,
    .reference = resize_reference,
    .kernels = kKernels,
    .cases = cases_upsample,
    .stream = stream_resize,
};

}  // namespace

extern const Op resize = erase<kResize>();
extern const Op upsample = erase<kUpsample>();

}  // namespace sdx::ops
