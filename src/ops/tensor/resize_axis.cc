#include "ops/tensor/resize_axis.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sdx {
namespace {

using Coordinates = Resampling::Coordinates;
using Nearest = Resampling::Nearest;

double original(const Resampling& how, const AxisSize& size, double x) {
  const double in = double(size.in), wide = size.scale * in;
  switch (how.coordinates) {
    case Coordinates::half_pixel:
      return (x + 0.5) / size.scale - 0.5;
    case Coordinates::half_pixel_symmetric: {
      const double offset = in / 2 * (1 - double(size.out) / wide);
      return offset + (x + 0.5) / size.scale - 0.5;
    }
    case Coordinates::half_pixel_for_nn:
      return (x + 0.5) / size.scale;
    case Coordinates::pytorch_half_pixel:
      return size.out > 1 ? (x + 0.5) / size.scale - 0.5 : 0;
    case Coordinates::align_corners:
      return wide == 1 || size.out == 1 ? 0 : x * (in - 1) / (wide - 1);
    case Coordinates::asymmetric:
      return x / size.scale;
    case Coordinates::crop:
      if (size.out == 1) return 0.5 * (size.start + size.end) * (in - 1);
      return size.start * (in - 1) +
             x * (size.end - size.start) * (in - 1) / (double(size.out) - 1);
  }
  return 0;
}

double nearest(const Resampling& how, const AxisSize& size, double x) {
  switch (how.nearest) {
    case Nearest::prefer_floor:
      return std::ceil(x - 0.5);
    case Nearest::prefer_ceil:
      return std::floor(x + 0.5);
    case Nearest::floor:
      return std::floor(x);
    case Nearest::ceil:
      return std::ceil(x);
    case Nearest::simple:
      return size.scale < 1 ? std::ceil(x) : std::floor(x);
  }
  return x;
}

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The filter reaches this many pixels to each side; antialiasing stretches it when the axis
// shrinks.
double reach_of(const Resampling& how, double stretch) {
  if (how.mode == Resampling::Mode::nearest) return 0;
  return -std::floor((how.mode == Resampling::Mode::cubic ? -2 : -1) / stretch);
}
double stretch_of(const Resampling& how, const AxisSize& size) {
  return how.antialias ? std::min(size.scale, 1.0) : 1.0;
}

}  // namespace

double count_taps(const Resampling& how, const AxisSize& size) {
  return std::max(1.0, 2 * reach_of(how, stretch_of(how, size))) * double(size.out);
}

bool AxisTaps::identity() const {
  if (taps != 1 || !outside.empty()) return false;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] != int32_t(i)) return false;
  }
  return true;
}

AxisTaps axis_taps(const Resampling& how, const AxisSize& size) {
  AxisTaps result;
  const bool by_index = how.mode == Resampling::Mode::nearest;
  const bool full = how.coordinates != Coordinates::crop || (size.start == 0 && size.end == 1);
  if (size.in == size.out && size.scale == 1 && full) {
    result.index.resize(size_t(size.out));
    std::iota(result.index.begin(), result.index.end(), 0);
    result.weight.assign(size_t(size.out), 1);
    return result;
  }
  const double stretch = stretch_of(how, size);
  const bool is_cubic = how.mode == Resampling::Mode::cubic;
  const auto reach = int64_t(reach_of(how, stretch));
  result.taps = by_index ? 1 : size_t(2 * reach);
  // NaN, as of a region that is none, takes the first element.
  const auto clamp = [&](double i) {
    return int32_t(std::min(std::fmax(i, 0.0), double(size.in - 1)));
  };
  std::vector<double> weights(result.taps);
  for (int64_t at = 0; at < size.out; ++at) {
    const double x = original(how, size, double(at));
    const bool out = how.coordinates == Coordinates::crop && (x < 0 || x > double(size.in - 1));
    if (out && result.outside.empty()) result.outside.assign(size_t(size.out), false);
    if (out) result.outside[size_t(at)] = true;
    if (by_index) {
      result.index.push_back(clamp(nearest(how, size, x)));
      result.weight.push_back(1);
      continue;
    }
    const double base = std::floor(x), first = base - double(reach - 1);
    double sum = 0;
    for (size_t k = 0; k < result.taps; ++k) {
      const double distance = (first + double(k) - x) * stretch;
      weights[k] = is_cubic ? cubic(distance, how.cubic_a) : std::max(0.0, 1 - std::fabs(distance));
      const double i = first + double(k);
      if (how.exclude_outside && (i < 0 || i > double(size.in - 1))) weights[k] = 0;
      sum += weights[k];
    }
    if ((how.exclude_outside || how.antialias) && sum != 0) {
      for (double& weight : weights) weight /= sum;
    }
    for (size_t k = 0; k < result.taps; ++k) {
      const int32_t i = clamp(first + double(k));
      // Beyond the edge the same element is taken again: once with the sum of the weights, so that
      // edges stay exact.
      if (k > 0 && result.index.back() == i) weights[k] += std::exchange(result.weight.back(), 0);
      result.index.push_back(i);
      result.weight.push_back(weights[k]);
    }
  }
  return result;
}

}  // namespace sdx
