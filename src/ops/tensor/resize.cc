// Resize and Upsample.
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"
#include "ops/tensor/resize_axis.h"

namespace sdx::ops {
namespace {

using Mode = Resampling::Mode;
using Place = Resampling::Place;
using Nearest = Resampling::Nearest;

struct Resize {
  Resampling how;
  enum class Aspect { stretch, not_larger, not_smaller } aspect = Aspect::stretch;
  float extrapolation = 0;
  MaybeInts axes;                                           // absent: all
  std::optional<std::vector<float>> scales;                 // otherwise an input
  size_t roi_input = 0, scales_input = 0, sizes_input = 0;  // 0: this version has no such input
};

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
constexpr std::pair<std::string_view, Place> kPlaces[] = {
    {"half_pixel", Place::half_pixel},
    {"half_pixel_symmetric", Place::half_pixel_symmetric},
    {"pytorch_half_pixel", Place::pytorch_half_pixel},
    {"align_corners", Place::align_corners},
    {"asymmetric", Place::asymmetric},
    {"tf_half_pixel_for_nn", Place::half_pixel_for_nn},
    {"tf_crop_and_resize", Place::crop}};
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
    a.how.place = Place::asymmetric;
    a.how.nearest = Nearest::simple;
    return a;
  }
  a.roi_input = 1;
  a.sizes_input = 3;
  const std::string& place = node.s("coordinate_transformation_mode");
  SDX_ASSIGN(a.how.place, pick("coordinate_transformation_mode", place, kPlaces));
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
  a.how.place = Place::asymmetric;
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

// What the inputs say, as far as it is known; in a run all of it is.
struct Wanted {
  std::optional<std::vector<float>> scales;
  std::optional<std::vector<Dim>> sizes;
  std::vector<double> roi;
  bool by_sizes = false;
};

Wanted wanted(const Resize& a, const Facts& in) {
  Wanted w;
  w.scales = a.scales;
  const auto fact = [&](size_t i) -> const Fact* {
    return i != 0 && i < in.size() && in[i].present() ? &in[i] : nullptr;
  };
  if (const Fact* sizes = fact(a.sizes_input);
      sizes && !(sizes->is_concrete() && product(*sizes->shape) == Dim(0))) {
    w.by_sizes = true;
    w.sizes = sizes->integers();
  } else if (const Fact* scales = fact(a.scales_input); scales && scales->value) {
    w.scales.emplace(scales->value->values<float>().begin(), scales->value->values<float>().end());
  }
  if (const Fact* roi = fact(a.roi_input); roi && roi->value) {
    for (size_t i = 0; i < roi->value->count(); ++i)
      w.roi.push_back(get_f64(roi->type, roi->value->raw(), i));
  }
  return w;
}

Wanted wanted(const Resize& a, const Args& args) {
  Wanted w;
  w.scales = a.scales;
  const auto view = [&](size_t i) -> const View* {
    return i != 0 && args.has(i) && args.in(i).count > 0 ? &args.in(i) : nullptr;
  };
  if (const View* sizes = view(a.sizes_input)) {
    w.by_sizes = true;
    w.sizes = shape_of(SmallInts::of(*sizes));
  } else if (const View* scales = view(a.scales_input)) {
    w.scales.emplace(scales->values<float>().begin(), scales->values<float>().end());
  }
  if (const View* roi = view(a.roi_input)) {
    for (size_t i = 0; i < roi->count; ++i) w.roi.push_back(get_f64(roi->type, roi->raw, i));
  }
  return w;
}

Result<SmallInts> resized_axes(const Resize& a, size_t rank) {
  SmallInts all;
  for (size_t i = 0; i < rank; ++i) all.push_back(int64_t(i));
  return resolve_axes(a.axes ? SmallInts(*a.axes) : all, rank);
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

// The one scale that keeps the proportions: the smallest or largest of size / dim.
double common_scale(const Resize& a, std::span<const int64_t> dims, const SmallInts& axes,
                    const std::vector<Dim>& sizes) {
  double best = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double scale = double(sizes[i].value()) / double(dims[size_t(axes[i])]);
    if (i == 0 || (scale < best) == (a.aspect == Resize::Aspect::not_larger)) best = scale;
  }
  return best;
}

Result<Facts> infer(const Resize& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  SDX_ASSIGN(const SmallInts axes, resized_axes(a, in[0].rank()));
  const Wanted w = wanted(a, in);
  const size_t given_count = w.sizes ? w.sizes->size() : w.scales ? w.scales->size() : axes.size();
  if (given_count != axes.size()) {
    return fail("SDX-T0241", "{} {} are given for {} axes", given_count,
                w.sizes ? "sizes" : "scales", axes.size());
  }
  Facts out{like(in[0])};
  const bool proportional = w.sizes && a.aspect != Resize::Aspect::stretch;
  const bool known = in[0].is_concrete() && w.sizes && constant_dims(*w.sizes);
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
    } else if (w.scales && !w.by_sizes) {
      float scale = (*w.scales)[i];
      if (!(scale > 0)) return fail("SDX-T0241", "the scale of axis {} is {}", axes[i], scale);
      if (a.how.place == Place::crop && w.roi.size() == 2 * axes.size()) {
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

// The taps of every axis.
using Plan = std::vector<AxisTaps>;

Result<Plan> plan_of(const Resize& a, std::span<const int64_t> x, std::span<const int64_t> y,
                     const Wanted& w) {
  SDX_ASSIGN(const SmallInts axes, resized_axes(a, x.size()));
  for (const int64_t size : x) {
    if (size > std::numeric_limits<int32_t>::max())
      return fail("SDX-R0103", "an axis of {} elements is too long", size);
  }
  Plan plan(x.size());
  const bool proportional = w.sizes && a.aspect != Resize::Aspect::stretch;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    AxisSize size{x[axis], y[axis], 1};
    const auto at = std::find(axes.begin(), axes.end(), int64_t(axis));
    if (at != axes.end()) {
      const auto i = size_t(at - axes.begin());
      if (proportional) {
        size.scale = common_scale(a, x, axes, *w.sizes);
      } else if (w.sizes) {
        size.scale = double(size.out) / double(size.in);
      } else if (w.scales && i < w.scales->size()) {
        size.scale = (*w.scales)[i];
      } else {
        return fail("SDX-T0241", "neither sizes nor scales are given");
      }
      if (w.roi.size() == 2 * axes.size()) {
        size.start = w.roi[i];
        size.end = w.roi[axes.size() + i];
      } else if (a.how.place == Place::crop) {
        return fail("SDX-T0241", "roi has {} elements for {} axes", w.roi.size(), axes.size());
      }
    }
    plan[axis] = axis_taps(a.how, size);
  }
  return plan;
}

// Every element of the output is one of the input: any type, row by row. Equal rows are copied.
void take_nearest(const Plan& plan, const View& x, const View& y, Pool* pool) {
  const size_t rank = y.rank();
  if (y.count == 0) return;
  if (rank == 0) return copy_row(x.type, x.raw, 0, y.raw, 0, 1);
  const SmallInts strides = strides_of(x.dims);
  const size_t width = size_t(y.dims[rank - 1]);
  const std::vector<int32_t>& columns = plan[rank - 1].index;
  const bool whole = plan[rank - 1].identity();
  share_rows(pool, y.count / width, width, y.type, [&](size_t begin, size_t end) {
    size_t last = SIZE_MAX;
    for (size_t row = begin; row < end; ++row) {
      size_t base = 0;
      for (size_t axis = rank - 1, rest = row; axis-- > 0; rest /= size_t(y.dims[axis])) {
        base += size_t(plan[axis].index[rest % size_t(y.dims[axis])]) * size_t(strides[axis]);
      }
      if (base == last) {
        copy_row(y.type, y.raw, (row - 1) * width, y.raw, row * width, width);
      } else if (whole) {
        copy_row(x.type, x.raw, base, y.raw, row * width, width);
      } else if (bits(x.type) == 32) {
        const uint32_t* from = x.data<uint32_t>() + base;
        uint32_t* to = y.data<uint32_t>() + row * width;
        for (size_t i = 0; i < width; ++i) to[i] = from[columns[i]];
      } else {
        for (size_t i = 0; i < width; ++i)
          copy_row(x.type, x.raw, base + size_t(columns[i]), y.raw, row * width + i, 1);
      }
      last = base;
    }
  });
}

// Output positions outside the input along any axis hold the extrapolation value.
bool is_outside(const Plan& plan, std::span<const int64_t> dims, size_t i) {
  for (size_t axis = dims.size(); axis-- > 0; i /= size_t(dims[axis])) {
    if (!plan[axis].outside.empty() && plan[axis].outside[i % size_t(dims[axis])]) return true;
  }
  return false;
}
bool any_outside(const Plan& plan) {
  return std::any_of(plan.begin(), plan.end(),
                     [](const AxisTaps& taps) { return !taps.outside.empty(); });
}

// v = sum of weight * value over the taps whose weight is not 0, in ascending order; every product
// and sum is rounded.
template <class C, class Get>
C weighted(const AxisTaps& taps, size_t at, Get get) {
  C sum = 0;
  bool first = true;
  for (size_t k = 0; k < taps.taps; ++k) {
    const C weight = C(taps.weight[at * taps.taps + k]);
    if (weight == 0) continue;
    const C term = weight * get(size_t(taps.index[at * taps.taps + k]));
    sum = first ? term : sum + term;
    first = false;
  }
  return sum;
}

// Axes are resized one after the other, the last one first; what lies between is kept in the
// computing type C.
template <class C>
std::vector<C> interpolate(const Plan& plan, std::span<const int64_t> x_dims, std::vector<C> data) {
  Dims dims(x_dims.begin(), x_dims.end());
  for (size_t axis = dims.size(); axis-- > 0;) {
    const AxisTaps& taps = plan[axis];
    if (taps.identity()) continue;
    const AxisSplit at = split_at(dims, axis);
    const size_t size = taps.index.size() / taps.taps;
    std::vector<C> next(at.outer * size * at.inner);
    for (size_t outer = 0; outer < at.outer; ++outer) {
      for (size_t i = 0; i < size; ++i) {
        for (size_t inner = 0; inner < at.inner; ++inner) {
          next[(outer * size + i) * at.inner + inner] = weighted<C>(
              taps, i, [&](size_t k) { return data[(outer * at.size + k) * at.inner + inner]; });
        }
      }
    }
    data = std::move(next);
    dims[axis] = int64_t(size);
  }
  return data;
}

// Integers are rounded to the nearest even one and saturate; true is what is not zero.
template <class C>
void put(const View& y, size_t i, C value) {
  if (visit_floats(y.type, [&]<class T>() { y.data<T>()[i] = store<T>(Compute<T>(value)); }))
    return;
  if (visit_integers(y.type,
                     [&]<class T>() { y.data<T>()[i] = to_integer<T>(std::nearbyint(value)); }))
    return;
  set_f64(y.type, y.raw, i, double(value));
}

template <class C>
void reference_in(const Resize& a, const Plan& plan, const View& x, const View& y) {
  std::vector<C> data(x.count);
  for (size_t i = 0; i < x.count; ++i) data[i] = C(get_f64(x.type, x.raw, i));
  data = interpolate(plan, x.dims, std::move(data));
  const bool outside = any_outside(plan);
  for (size_t i = 0; i < y.count; ++i)
    put<C>(y, i, outside && is_outside(plan, y.dims, i) ? C(a.extrapolation) : data[i]);
}

Status reference(const Resize& a, Args& args) {
  View x = args.in(0), y = args.out();
  SDX_ASSIGN(Plan plan, plan_of(a, x.dims, y.dims, wanted(a, args)));
  if (a.how.mode == Mode::nearest) {
    take_nearest(plan, x, y, args.pool);
    if (!any_outside(plan) || x.type == DType::string || is_complex(x.type)) return ok();
    for (size_t i = 0; i < y.count; ++i) {
      if (is_outside(plan, y.dims, i)) put<double>(y, i, a.extrapolation);
    }
    return ok();
  }
  Dims x_dims(x.dims.begin(), x.dims.end()), y_dims(y.dims.begin(), y.dims.end());
  if (is_complex(x.type)) {
    // Real and imaginary parts are a last axis of two.
    for (View* view : {&x, &y}) {
      view->type = view->type == DType::c64 ? DType::f32 : DType::f64;
      view->count *= 2;
    }
    x_dims.push_back(2);
    y_dims.push_back(2);
    x.dims = x_dims;
    y.dims = y_dims;
    plan.push_back(axis_taps({}, {2, 2, 1}));
  }
  // 32- and 64-bit integers need the precision of double.
  const bool wide = x.type == DType::f64 || (is_integer(x.type) && bits(x.type) >= 32);
  if (wide) {
    reference_in<double>(a, plan, x, y);
  } else {
    reference_in<float>(a, plan, x, y);
  }
  return ok();
}

// A kernel's taps for the two innermost axes, with weights as float.
struct Image {
  Plan plan;
  std::vector<float> row_weight, column_weight;
  size_t ring;  // rows kept after the horizontal step
};

std::shared_ptr<const void> pack_plan(const Resize& a, const Call& call, Pool&) {
  auto plan = plan_of(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  if (!plan) return nullptr;
  auto image = std::make_shared<Image>();
  image->plan = *std::move(plan);
  const size_t rank = image->plan.size();
  if (rank >= 2) {
    const AxisTaps &rows = image->plan[rank - 2], &columns = image->plan[rank - 1];
    image->row_weight.assign(rows.weight.begin(), rows.weight.end());
    image->column_weight.assign(columns.weight.begin(), columns.weight.end());
    image->ring = rows.taps;
  }
  return image;
}

bool plannable(const Resize& a, const Call& call) {
  const Wanted w = wanted(a, call.in);
  if (a.how.place == Place::crop || (w.by_sizes ? !w.sizes || !constant_dims(*w.sizes) : !w.scales))
    return false;
  return plan_of(a, call.in[0].dims(), call.out[0].dims(), w).ok();
}

bool fits_nearest(const Resize& a, const Call& call) {
  return a.how.mode == Mode::nearest && plannable(a, call);
}
Status run_nearest(const Resize&, Args& args) {
  take_nearest(static_cast<const Image*>(args.packed)->plan, args.in(0), args.out(), args.pool);
  return ok();
}

// Only the two innermost axes of f32 change size.
bool fits_image(const Resize& a, const Call& call) {
  if (a.how.mode == Mode::nearest || call.in[0].type != DType::f32 || call.in[0].rank() < 2 ||
      !plannable(a, call))
    return false;
  const auto plan = plan_of(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  return std::all_of(plan->begin(), plan->end() - 2,
                     [](const AxisTaps& taps) { return taps.identity(); });
}
size_t row_taps(const Resize& a, const Call& call) {
  const auto plan = plan_of(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  return plan ? (*plan)[plan->size() - 2].taps : 1;
}
// Per thread: the rows that the taps of one output row need, and which input row each of them
// holds.
size_t scratch_image(const Resize& a, const Call& call) {
  const size_t width = size_t(call.out[0].dim(call.out[0].rank() - 1).value());
  return size_t(call.threads) * row_taps(a, call) * (width * sizeof(float) + sizeof(int64_t));
}

// One input row resized along its length.
void stretch_row(const Image& image, const float* from, float* to, size_t width) {
  const AxisTaps& columns = image.plan.back();
  if (columns.identity()) {
    std::memcpy(to, from, width * sizeof(float));
    return;
  }
  const float* weight = image.column_weight.data();
  const int32_t* index = columns.index.data();
  if (columns.taps == 2) {
    for (size_t i = 0; i < width; ++i) {
      const float left = weight[2 * i] * from[index[2 * i]];
      const float right = weight[2 * i + 1] * from[index[2 * i + 1]];
      // A tap of weight 0 takes no part, not even with an infinity.
      to[i] = weight[2 * i] == 0 ? right : weight[2 * i + 1] == 0 ? left : left + right;
    }
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    float sum = 0;
    bool first = true;
    for (size_t k = i * columns.taps; k < (i + 1) * columns.taps; ++k) {
      if (weight[k] == 0) continue;
      const float term = weight[k] * from[index[k]];
      sum = first ? term : sum + term;
      first = false;
    }
    to[i] = sum;
  }
}

void canonical(float* y, size_t n) {
  for (size_t i = 0; i < n; ++i)
    y[i] = y[i] == y[i] ? y[i] : std::numeric_limits<float>::quiet_NaN();
}

Status run_image(const Resize&, Args& args) {
  const Image& image = *static_cast<const Image*>(args.packed);
  const View &x = args.in(0), &y = args.out();
  const size_t rank = y.rank();
  const AxisTaps& rows = image.plan[rank - 2];
  const size_t height = size_t(y.dims[rank - 2]), width = size_t(y.dims[rank - 1]);
  const size_t in_height = size_t(x.dims[rank - 2]), in_width = size_t(x.dims[rank - 1]);
  if (y.count == 0) return ok();
  auto* const rings = reinterpret_cast<float*>(args.scratch.data());
  auto* const holders =
      reinterpret_cast<int64_t*>(rings + size_t(args.pool->threads()) * image.ring * width);
  const size_t grain = std::max<size_t>(1, 32768 / width);
  args.pool->parallel(y.count / width, grain, [&](size_t begin, size_t end, int thread) {
    float* const ring = rings + size_t(thread) * image.ring * width;
    int64_t* const holds = holders + size_t(thread) * image.ring;
    std::fill_n(holds, image.ring, -1);
    for (size_t line = begin; line < end; ++line) {
      const size_t plane = line / height, row = line % height;
      float* const to = y.data<float>() + line * width;
      bool first = true;
      for (size_t k = 0; k < rows.taps; ++k) {
        const float weight = image.row_weight[row * rows.taps + k];
        if (weight == 0) continue;
        const size_t source = plane * in_height + size_t(rows.index[row * rows.taps + k]);
        const size_t slot = source % image.ring;
        float* const stretched = ring + slot * width;
        if (holds[slot] != int64_t(source)) {
          stretch_row(image, x.data<float>() + source * in_width, stretched, width);
          holds[slot] = int64_t(source);
        }
        if (first) {
          for (size_t i = 0; i < width; ++i) to[i] = weight * stretched[i];
        } else {
          for (size_t i = 0; i < width; ++i) to[i] += weight * stretched[i];
        }
        first = false;
      }
      if (first) std::fill_n(to, width, 0.0f);
      canonical(to, width);
    }
  });
  return ok();
}

constexpr Kernel<Resize> kKernels[] = {
    {"nearest", fits_nearest, run_nearest, nullptr, pack_plan},
    {"image_f32", fits_image, run_image, scratch_image, pack_plan},
};

std::vector<Case> cases_resize() {
  const Tensor x = Tensor::of<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const float inf = std::numeric_limits<float>::infinity();
  return {{.name = "opset10_rounds_up_when_reducing",
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
    .reference = reference,
    .kernels = kKernels,
    .cases = cases_resize,
};
constexpr OpOf<Resize> kUpsample{
    .name = "Upsample",
    .doc = "The older form of Resize.",
    .history = kUpsampleHistory,
    .read = read_upsample,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases_upsample,
};

}  // namespace

extern const Op resize = erase<kResize>();
extern const Op upsample = erase<kUpsample>();

}  // namespace sdx::ops
