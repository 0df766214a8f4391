// Derivatives of convolutions and pooling over windows.
#include <algorithm>

#include "gradient/rule.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_transpose.h"
#include "ops/pool/average_pool.h"

namespace sdx::gradient {
namespace {

using Ints = std::vector<int64_t>;

// How windows lie: along each spatial axis, window o covers in[i] at o * stride + k * dilation -
// begin.
struct Windows {
  Ints size = {}, kernel = {}, stride = {}, dilation = {}, begin = {}, end = {}, count = {};
  int64_t groups = 1;
  size_t axes() const { return size.size(); }
  Ints pads() const {
    Ints both = begin;
    both.insert(both.end(), end.begin(), end.end());
    return both;
  }
};

bool spatial(const Step& s, Outlet wire, Ints& sizes) {
  for (size_t i = 2; i < s.b.rank(wire); ++i) {
    const Dim& dim = s.b.fact(wire).dim(i);
    if (!dim.is_const()) {
      s.b.refuse(fail("SDX-D0006",
                      "{}: the spatial sizes must be known to differentiate it, found {}", s.name(),
                      s.b.fact(wire).text()));
      return false;
    }
    sizes.push_back(dim.value());
  }
  return true;
}

// Of a convolution or pooling from `wide` (the side with the padding) to `narrow`.
bool windows(const Step& s, Outlet wide, Outlet narrow, const ops::Window& window,
             const Ints& kernel, Windows& w) {
  using Pad = ops::Window::Pad;
  if (!spatial(s, wide, w.size) || !spatial(s, narrow, w.count)) return false;
  w.kernel = kernel;
  w.stride = window.strides;
  w.dilation = window.dilations;
  for (size_t i = 0; i < w.axes(); ++i) {
    // What the windows cover from the first to the last; the end's padding follows from it, also
    // where the last window was rounded up or elements behind it are not used.
    const int64_t covered = (w.count[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
    const int64_t total = std::max<int64_t>(covered - w.size[i], 0);
    int64_t begin = window.pad == Pad::given ? window.begin[i] : 0;
    if (window.pad == Pad::same_upper) begin = total / 2;
    if (window.pad == Pad::same_lower) begin = total - total / 2;
    w.begin.push_back(begin);
    w.end.push_back(covered - w.size[i] - begin);
  }
  return true;
}

// The side with the padding from the other: sums of all windows that an element stands in.
Outlet spread(const Step& s, const Windows& w, Outlet narrow, Outlet kernel) {
  Ints end, extra;
  for (const int64_t e : w.end) {
    end.push_back(std::max<int64_t>(e, 0));
    extra.push_back(std::max<int64_t>(-e, 0));  // elements behind the last window
  }
  Ints pads = w.begin;
  pads.insert(pads.end(), end.begin(), end.end());
  Outlet wide = s.b.op(
      "ConvTranspose", {narrow, kernel},
      {{"strides", w.stride}, {"dilations", w.dilation}, {"pads", pads}, {"group", w.groups}});
  if (std::all_of(extra.begin(), extra.end(), [](int64_t e) { return e == 0; })) return wide;
  Ints fill(2 * (w.axes() + 2), 0);
  std::copy(extra.begin(), extra.end(), fill.end() - std::ptrdiff_t(w.axes()));
  return s.b.op("Pad", {wide, s.b.ints(fill)});
}

Outlet gather(const Step& s, const Windows& w, Outlet wide, Outlet kernel) {
  // Elements behind the last window are no padding: they are left out by the count of windows.
  Ints pads = w.begin;
  for (const int64_t e : w.end) pads.push_back(std::max<int64_t>(e, 0));
  return s.b.op(
      "Conv", {wide, kernel},
      {{"strides", w.stride}, {"dilations", w.dilation}, {"pads", pads}, {"group", w.groups}});
}

// The kernel's derivative, [channels of `narrow`, channels of `wide` per group, kernel]: `wide`
// with the windows' first elements as the kernel, batch and channels exchanged, stride and dilation
// too.
Outlet to_kernel(const Step& s, const Windows& w, Outlet wide, Outlet narrow) {
  Builder& b = s.b;
  Ints perm(w.axes() + 2), starts, ends, axes, pads = w.begin;
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = int64_t(i);
  std::swap(perm[0], perm[1]);
  for (size_t i = 0; i < w.axes(); ++i) {
    pads.push_back(std::max<int64_t>(w.end[i], 0));
    starts.push_back(0);
    ends.push_back(w.kernel[i]);
    axes.push_back(int64_t(i) + 2);
  }
  const auto cut = [&](Outlet wire) {
    return w.groups == 1 ? Outlets{wire}
                         : b.ops("Split", {wire}, {{"axis", int64_t{1}}, {"num_outputs", w.groups}},
                                 size_t(w.groups));
  };
  const Outlets xs = cut(wide), gs = cut(narrow);
  Outlets parts;
  for (size_t group = 0; group < xs.size(); ++group) {
    const Outlet sums = b.op("Conv", {b.transpose(xs[group], perm), b.transpose(gs[group], perm)},
                             {{"strides", w.dilation}, {"dilations", w.stride}, {"pads", pads}});
    parts.push_back(
        b.transpose(b.op("Slice", {sums, b.ints(starts), b.ints(ends), b.ints(axes)}), perm));
  }
  return parts.size() == 1 ? parts[0] : b.op("Concat", parts, {{"axis", int64_t{0}}});
}

Outlet to_bias(const Step& s) {
  Ints axes;
  for (size_t i = 0; i < s.b.rank(s.y()); ++i) {
    if (i != 1) axes.push_back(int64_t(i));
  }
  return s.b.sum(s.g(), axes, false);
}

Outlets conv(const Step& s) {
  const auto& [window, group] = s.as<ops::Conv>();
  Windows w{.groups = group};
  Ints kernel;
  if (!spatial(s, s.in[1], kernel) || !windows(s, s.x(), s.y(), window, kernel, w)) return {};
  Outlets grads{spread(s, w, s.g(), s.in[1]), to_kernel(s, w, s.x(), s.g())};
  if (s.has(2)) grads.push_back(to_bias(s));
  return grads;
}

// The other way round: the output is the side with the padding.
Outlets conv_transpose(const Step& s) {
  const auto& a = s.as<ops::ConvTranspose>();
  Windows w{.groups = a.group};
  Ints kernel;
  if (!a.output_shape.empty() || a.window.pad != ops::Window::Pad::given) {
    s.b.refuse(fail("SDX-D0001",
                    "operator ConvTranspose with output_shape or auto_pad has no derivative rule"));
    return {};
  }
  if (!spatial(s, s.in[1], kernel) || !windows(s, s.y(), s.x(), a.window, kernel, w)) return {};
  Outlets grads{gather(s, w, s.g(), s.in[1]), to_kernel(s, w, s.g(), s.x())};
  if (s.has(2)) grads.push_back(to_bias(s));
  return grads;
}

// Sums of windows as a convolution with ones, over how many elements each has.
Outlets average_pool(const Step& s) {
  Builder& b = s.b;
  const auto& [window, count_padding] = s.as<ops::AveragePool>();
  Windows w;
  if (!windows(s, s.x(), s.y(), window, window.kernel, w)) return {};
  Ints plane{-1, 1}, kernel{1, 1}, whole{1, 1};
  plane.insert(plane.end(), w.size.begin(), w.size.end());
  kernel.insert(kernel.end(), w.kernel.begin(), w.kernel.end());
  whole.insert(whole.end(), w.size.begin(), w.size.end());
  const DType type = b.type(s.x());
  const auto filled = [&](const Ints& shape) {
    return b.op("Expand", {b.number(1, type), b.ints(shape)});
  };
  const Outlet sums = gather(s, w, b.op("Reshape", {s.x(), b.ints(plane)}), filled(kernel));
  Outlet ones = filled(whole);
  Windows inside = w;
  if (count_padding) {
    // The padding counts, what a window rounded up reaches behind it does not.
    Ints fill(2 * (w.axes() + 2), 0);
    for (size_t i = 0; i < w.axes(); ++i) {
      const bool listed = window.pad == ops::Window::Pad::given;
      const int64_t end = listed ? window.end[i] : std::max<int64_t>(w.end[i], 0);
      fill[2 + i] = w.begin[i];
      fill[w.axes() + 4 + i] = end;
      inside.begin[i] = 0;
      inside.end[i] = w.end[i] - end;
    }
    ones = b.op("Pad", {ones, b.ints(fill), b.number(1, type)});
  }
  const Outlet counts = gather(s, inside, ones, filled(kernel));
  return s.through({b.reshape(b.div(sums, counts), s.y())});
}

// Every maximum's place in the input is known: what arrives is added there.
Outlets max_pool(const Step& s) {
  Builder& b = s.b;
  const Outlet flat = b.ints({-1});
  const Outlets pooled = b.again(s.node, s.in, {{"storage_order", int64_t{0}}}, 2);
  const Outlet places = b.op("Reshape", {pooled[1], flat});
  const Outlet none = b.op("Reshape", {b.zeros(s.x()), flat});
  // A window that lies in the padding has no place.
  const Outlet nowhere = b.less(places, b.ints({0}));
  const Outlet g = b.only(b.op("Not", {nowhere}), b.op("Reshape", {s.g(), flat}));
  const Outlet at = b.op("Max", {places, b.ints({0})});
  const Outlet sums = b.op("ScatterElements", {none, at, g}, {{"reduction", std::string("add")}});
  return {b.reshape(sums, s.x())};
}

Outlets global(const Step& s, std::string_view reduction) {
  Ints axes;
  for (size_t i = 2; i < s.b.rank(s.x()); ++i) axes.push_back(int64_t(i));
  return s.through({s.b.op(reduction, {s.x(), s.b.ints(axes)})});
}

constexpr Entry kConvolutionRules[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"AveragePool", average_pool},
    {"MaxPool", max_pool},
    {"GlobalAveragePool", [](const Step& s) { return global(s, "ReduceMean"); }},
    {"GlobalMaxPool", [](const Step& s) { return global(s, "ReduceMax"); }},
};

}  // namespace

std::span<const Entry> convolution_rules() { return kConvolutionRules; }

}  // namespace sdx::gradient
