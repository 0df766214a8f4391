#include "ops/pool/window.h"

namespace sdx::ops {
namespace {

// Products of two such numbers and sums of a few fit in 64 bits.
constexpr int64_t kMost = int64_t{1} << 30;

Result<std::vector<int64_t>> numbers(const Node& node, std::string_view name, size_t count,
                                     int64_t least, int64_t fallback) {
  if (!node.has(name) || node.ints(name).empty()) return std::vector<int64_t>(count, fallback);
  const std::vector<int64_t>& given = node.ints(name);
  if (given.size() != count) {
    return fail("SDX-T0330", "{} has {} values, expected {}", name, given.size(), count);
  }
  for (const int64_t x : given) {
    if (x < least || x > kMost) {
      return fail("SDX-T0331", "{} holds {}, expected at least {} and at most {}", name, x, least,
                  kMost);
    }
  }
  return given;
}

Result<Window::Pad> read_auto_pad(const Node& node) {
  if (!node.has("auto_pad")) return Window::Pad::given;
  const std::string& text = node.s("auto_pad");
  if (text.empty() || text == "NOTSET") return Window::Pad::given;
  if (text == "SAME_UPPER") return Window::Pad::same_upper;
  if (text == "SAME_LOWER") return Window::Pad::same_lower;
  if (text == "VALID") return Window::Pad::valid;
  return fail("SDX-T0332", "auto_pad is \"{}\", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
              text);
}

}  // namespace

Result<Window> read_window(const Node& node, std::optional<size_t> spatial) {
  Window w;
  const std::vector<int64_t> kernel = node.ints_or_empty("kernel_shape");
  if (!spatial && kernel.empty()) {
    return fail("SDX-T0111", "neither a rank nor kernel_shape tells the number of spatial axes");
  }
  w.spatial = spatial.value_or(kernel.size());
  if (w.spatial > kMostSpatial) {
    return fail("SDX-T0333", "{} spatial axes, at most {} are supported", w.spatial, kMostSpatial);
  }
  if (!kernel.empty()) {
    SDX_ASSIGN(w.kernel, numbers(node, "kernel_shape", w.spatial, 1, 1));
  }
  SDX_ASSIGN(w.strides, numbers(node, "strides", w.spatial, 1, 1));
  SDX_ASSIGN(w.dilations, numbers(node, "dilations", w.spatial, 1, 1));
  SDX_ASSIGN(w.pad, read_auto_pad(node));
  w.begin.assign(w.spatial, 0);
  w.end.assign(w.spatial, 0);
  if (w.pad == Window::Pad::given) {
    SDX_ASSIGN(const std::vector<int64_t> pads, numbers(node, "pads", 2 * w.spatial, 0, 0));
    for (size_t i = 0; i < w.spatial; ++i) {
      w.begin[i] = pads[i];
      w.end[i] = pads[w.spatial + i];
    }
  }
  w.ceil = node.i_or("ceil_mode", 0) != 0;
  return w;
}

Result<Dim> output_size(const Window& w, size_t i, const Dim& in, const Dim& kernel) {
  const Dim stride = w.strides[i];
  if (w.pad == Window::Pad::same_upper || w.pad == Window::Pad::same_lower)
    return ceil_div(in, stride);
  const Dim reach = (kernel - Dim(1)) * Dim(w.dilations[i]) + Dim(1);
  const Dim room = in + Dim(w.begin[i] + w.end[i]) - reach;
  if (room.is_const() && room.value() < 0) {
    return fail("SDX-T0334",
                "spatial axis {}: a window of {} does not fit into {} elements with {} of padding",
                i, reach.text(), in.text(), w.begin[i] + w.end[i]);
  }
  if (!w.ceil || w.pad == Window::Pad::valid) return floor_div(room, stride) + Dim(1);
  // A window that would start behind the input (in the padding at its end) is left out.
  return min(ceil_div(room, stride) + Dim(1), ceil_div(in + Dim(w.begin[i]), stride));
}

WindowAxes resolve(const Window& w, std::span<const int64_t> in, std::span<const int64_t> out,
                   std::span<const int64_t> kernel) {
  WindowAxes axes;
  axes.spatial = w.spatial;
  for (size_t i = 0; i < w.spatial; ++i) {
    WindowAxis& a = axes.axis[i];
    a = {in[i],        out[i],         w.kernel.empty() ? kernel[i] : w.kernel[i],
         w.strides[i], w.dilations[i], w.begin[i],
         w.end[i]};
    if (w.pad == Window::Pad::same_upper || w.pad == Window::Pad::same_lower) {
      const int64_t total = std::max<int64_t>(0, (a.out - 1) * a.stride + a.reach() - a.in);
      const int64_t less = total / 2, more = total - less;
      a.begin = w.pad == Window::Pad::same_upper ? less : more;
      a.end = total - a.begin;
    }
    axes.in *= size_t(a.in);
    axes.out *= size_t(a.out);
    axes.taps *= size_t(a.kernel);
  }
  return axes;
}

}  // namespace sdx::ops
