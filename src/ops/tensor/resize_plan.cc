// What a Resize node's inputs ask for, and the taps that follow.
#include <cmath>

#include "ops/tensor/resize.h"

namespace sdx::ops {

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

double common_scale(const Resize& a, std::span<const int64_t> dims, const SmallInts& axes,
                    const std::vector<Dim>& sizes) {
  double best = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double scale = double(sizes[i].value()) / double(dims[size_t(axes[i])]);
    if (i == 0 || (scale < best) == (a.aspect == Resize::Aspect::not_larger)) best = scale;
  }
  return best;
}

Result<ResizePlan> resize_plan(const Resize& a, std::span<const int64_t> x,
                               std::span<const int64_t> y, const Wanted& w) {
  SDX_ASSIGN(const SmallInts axes, resized_axes(a, x.size()));
  for (const int64_t size : x) {
    if (size > std::numeric_limits<int32_t>::max())
      return fail("SDX-R0103", "an axis of {} elements is too long", size);
  }
  ResizePlan plan(x.size());
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
      } else if (a.how.coordinates == Resampling::Coordinates::crop) {
        return fail("SDX-T0241", "roi has {} elements for {} axes", w.roi.size(), axes.size());
      }
    }
    // A scale may be as small, and an axis as long, as a number.
    constexpr double kMostTaps = 1 << 24;
    if (const double taps = count_taps(a.how, size); !(taps <= kMostTaps)) {
      return fail("SDX-R0106",
                  "from {} to {} elements takes a table of {:.0f} weights, at most {:.0f}", size.in,
                  size.out, taps, kMostTaps);
    }
    plan[axis] = axis_taps(a.how, size);
  }
  return plan;
}

}  // namespace sdx::ops
