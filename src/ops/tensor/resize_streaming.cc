#include "ops/tensor/resize.h"

namespace sdx::ops {
namespace {

constexpr int64_t kMostFactor = 64;

// The rows that output rows far from both ends take: the same at every place, or none.
struct Span {
  int64_t lo, hi;
};
// lo and hi so that row j takes rows floor((j + lo) / factor) to floor((j + hi) / factor).
std::optional<Span> spread_of(const Resampling& how, int64_t factor) {
  const int64_t in = 32;
  const AxisTaps taps = axis_taps(how, {in, in * factor, double(factor)});
  const auto fits = [&](int64_t offset, bool last) {
    for (int64_t j = 8 * factor; j < 24 * factor; ++j) {
      int64_t found = last ? INT64_MIN : INT64_MAX;
      for (size_t t = 0; t < taps.taps; ++t) {
        const size_t at = size_t(j) * taps.taps + t;
        if (taps.weight[at] == 0) continue;
        found = last ? std::max<int64_t>(found, taps.index[at])
                     : std::min<int64_t>(found, taps.index[at]);
      }
      if (Reach::floored(j + offset, factor) != found) return false;
    }
    return true;
  };
  std::optional<int64_t> lo, hi;
  for (int64_t offset = -4 * factor; offset <= 4 * factor; ++offset) {
    if (!lo && fits(offset, false)) lo = offset;
    if (!hi && fits(offset, true)) hi = offset;
  }
  if (!lo || !hi) return std::nullopt;
  return Span{*lo, *hi};
}

// Whether row j takes only rows of [j * factor, (j + 1) * factor).
bool stays_within(const Resampling& how, int64_t factor) {
  const int64_t out = 32;
  const AxisTaps taps = axis_taps(how, {out * factor, out, 1 / double(factor)});
  for (size_t at = 0; at < taps.index.size(); ++at) {
    const int64_t row = int64_t(at / taps.taps);
    if (taps.weight[at] != 0 && taps.index[at] / factor != row) return false;
  }
  return true;
}

}  // namespace

Streaming stream_resize(const Resize& a, const Streamed& s) {
  using Coordinates = Resampling::Coordinates;
  const Coordinates place = a.how.coordinates;
  const size_t along = s.axes[0].value_or(0);
  if (!s.flows(0)) return Streaming::refuse("its size depends on the length");
  const Dim &in = s.in[0].dim(along), &out = s.out[0].dim(along);
  if (place == Coordinates::align_corners || place == Coordinates::crop ||
      place == Coordinates::half_pixel_symmetric || a.how.antialias ||
      a.aspect != Resize::Aspect::stretch)
    return Streaming::refuse("its positions depend on the length");
  const auto axes = resized_axes(a, s.in[0].rank());
  if (!axes) return Streaming::refuse("its axes are not valid");
  std::vector<float> scales;
  int64_t up = 0, down = 0;
  for (const int64_t axis : *axes) {
    if (size_t(axis) != along) {
      if (!(s.in[0].dim(size_t(axis)) == s.out[0].dim(size_t(axis))))
        return Streaming::refuse("it resizes other axes together with the streamed one");
      scales.push_back(1);
      continue;
    }
    for (int64_t k = 1; k <= kMostFactor && up == 0 && down == 0; ++k) {
      if (in * Dim(k) == out) up = k;
      if (k > 1 && (k & (k - 1)) == 0 && floor_div(in, Dim(k)) == out) down = k;
    }
    scales.push_back(up != 0 ? float(up) : 1 / float(std::max<int64_t>(1, down)));
  }
  if (up == 0 && down == 0)
    return Streaming::refuse("its factor along the axis is no whole number");
  if (up == 1) return Streaming::ask();
  Streaming how;
  if (up != 0) {
    // Other weights than these are rounded anew at each distance from the beginning.
    if ((up & (up - 1)) != 0 && a.how.mode != Resampling::Mode::nearest)
      return Streaming::refuse("its weights are exact for powers of two only");
    const auto span = spread_of(a.how, up);
    if (!span) return Streaming::refuse("its rows take others at every place");
    how = Streaming::of(Streaming::Kind::spread);
    how.reach = {1, up, span->lo, span->hi};
    how.mode = Streaming::Mode::edge;
  } else {
    if (!stays_within(a.how, down)) return Streaming::refuse("a row takes rows of its neighbours");
    how = Streaming::of(Streaming::Kind::window);
    how.reach = {down, 1, 0, down - 1};
  }
  if (a.scales_input == 0) return how;  // attributes hold the scales
  const Tensor given = Tensor::of<float>({int64_t(scales.size())}, std::span<const float>(scales));
  how.constants.emplace_back(a.scales_input, given);
  if (a.sizes_input != 0 && s.in.size() > a.sizes_input && s.in[a.sizes_input].present())
    how.constants.emplace_back(a.sizes_input, Tensor::make(DType::i64, {0}));
  return how;
}

}  // namespace sdx::ops
