// Window: how convolutions and poolings slide a kernel over the spatial axes: sizes, strides,
// dilations and padding.
#pragma once

#include <algorithm>
#include <array>

#include "base/deadline.h"
#include "op/streaming.h"
#include "ops/common.h"

namespace sdx::ops {

inline constexpr size_t kMostSpatial =
    6;  // a tensor has at most 8 axes, two of them batch and channel

struct Window {
  enum class Pad : uint8_t { given, same_upper, same_lower, valid };
  size_t spatial = 0;           // axes that the window slides over
  std::vector<int64_t> kernel;  // empty: the shape of the weights tells
  std::vector<int64_t> strides, dilations;
  std::vector<int64_t> begin, end;  // padding, with Pad::given
  Pad pad = Pad::given;
  bool ceil = false;
};

// Reads auto_pad, pads, strides, dilations, kernel_shape and ceil_mode where the node has them.
// `spatial` is the number of spatial axes that the inputs' ranks tell; none: kernel_shape tells.
Result<Window> read_window(const Node& node, std::optional<size_t> spatial);

// The output's size along spatial axis `i`; `kernel` is the window's size there.
Result<Dim> output_size(const Window& window, size_t i, const Dim& in, const Dim& kernel);

// One axis with everything known.
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
  int64_t begin = 0, end = 0;  // padding
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  // The kernel positions [first, last) of output `o` that lie inside the input.
  int64_t first(int64_t o) const {
    const int64_t start = o * stride - begin;
    return start >= 0 ? 0 : std::min(kernel, (-start + dilation - 1) / dilation);
  }
  int64_t last(int64_t o) const {
    const int64_t room =
        in - (o * stride - begin);  // elements from the window's start to the input's end
    return room <= 0 ? 0 : std::min(kernel, (room + dilation - 1) / dilation);
  }
};

struct WindowAxes {
  size_t spatial = 0;
  std::array<WindowAxis, kMostSpatial> axis;
  size_t in = 1, out = 1, taps = 1;  // products over the axes
};

// `in` and `out`: spatial dimensions; `kernel`: used where the window does not say.
WindowAxes resolve(const Window& window, std::span<const int64_t> in, std::span<const int64_t> out,
                   std::span<const int64_t> kernel);

// The kernels' view (ConvShape, PoolShape) of at most three spatial axes: missing leading ones have
// size 1.
template <class Shape>
Shape kernel_axes(const WindowAxes& axes) {
  Shape s;
  for (size_t i = 0; i < axes.spatial; ++i) {
    const WindowAxis& axis = axes.axis[i];
    const size_t to = 3 - axes.spatial + i;
    s.in[to] = size_t(axis.in);
    s.out[to] = size_t(axis.out);
    s.kernel[to] = size_t(axis.kernel);
    s.stride[to] = size_t(axis.stride);
    s.dilation[to] = size_t(axis.dilation);
    s.pad[to] = size_t(axis.begin);
  }
  return s;
}

// How the node's window, which reads its first input, moves along a streamed axis. `kernel` as
// above, of the weights' shape where the window does not say.
Streaming stream_window(const Window& window, const Streamed& streamed,
                        std::span<const int64_t> kernel = {});

// The position at `flat` (row-major) of a box with these sizes.
using Position = std::array<int64_t, kMostSpatial>;
template <class Size>
Position position_of(size_t flat, size_t spatial, Size size) {
  Position p{};
  for (size_t i = spatial; i-- > 0;) {
    const auto n = size_t(size(i));
    p[i] = int64_t(flat % n);
    flat /= n;
  }
  return p;
}

// Calls visit(tap, input index) for the taps of output `o` in row-major order; the index is -1 in
// the padding.
template <class Visit>
void each_tap(const WindowAxes& w, const Position& o, Visit visit) {
  for (size_t tap = 0; tap < w.taps; ++tap) {
    Deadline::step();  // a window may be as large as a number
    const Position k = position_of(tap, w.spatial, [&](size_t i) { return w.axis[i].kernel; });
    int64_t index = 0;
    for (size_t i = 0; i < w.spatial && index >= 0; ++i) {
      const WindowAxis& a = w.axis[i];
      const int64_t at = o[i] * a.stride - a.begin + k[i] * a.dilation;
      index = at < 0 || at >= a.in ? -1 : index * a.in + at;
    }
    visit(tap, index);
  }
}

}  // namespace sdx::ops
