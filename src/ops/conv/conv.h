// What the convolutions share: reading their window and checking their inputs' shapes.
#pragma once

#include "kernel/conv/planes/conv_planes.h"
#include "ops/pool/window.h"

namespace sdx::ops {

// What Conv's attributes mean.
struct Conv {
  Window window;
  int64_t group;
};

inline constexpr size_t kConvChannels =
    16;  // the reduction's order: (channel / 16, tap, channel % 16)

inline Result<Window> read_conv_window(const Node& node, const Facts& in) {
  std::optional<size_t> rank;
  for (size_t i = 0; i < 2; ++i) {
    if (!in[i].has_rank()) continue;
    if (in[i].rank() < 3) {
      return fail("SDX-T0321", "{} has rank {}, expected at least 3", i == 0 ? "X" : "W",
                  in[i].rank());
    }
    if (rank && *rank != in[i].rank()) {
      return fail("SDX-T0321", "X has rank {}, W has rank {}; they must be equal", *rank,
                  in[i].rank());
    }
    rank = in[i].rank();
  }
  std::optional<size_t> spatial;
  if (rank) spatial = *rank - 2;
  SDX_ASSIGN(Window window, read_window(node, spatial));
  for (size_t i = 0; in[1].has_rank() && i < window.kernel.size(); ++i) {
    const Dim& size = in[1].dim(i + 2);
    if (size.is_const() && !size.is_const(window.kernel[i])) {
      return fail("SDX-T0322", "kernel_shape says {} on spatial axis {}, W has {}",
                  window.kernel[i], i, size.text());
    }
  }
  return window;
}

// X's channels are W's on axis `w_axis` (1: per group, times `group`; 0: of all groups); kernels
// have no empty axis.
inline Status check_conv_shapes(const Window& window, const Facts& in, const Dim& group,
                                size_t w_axis) {
  if (in[1].has_rank()) {
    for (size_t i = 0; i < window.spatial; ++i) {
      if (in[1].dim(i + 2).is_const(0))
        return fail("SDX-T0322", "W has size 0 on spatial axis {}", i);
    }
  }
  if (!in[0].has_rank() || !in[1].has_rank()) return ok();
  const Dim channels = w_axis == 1 ? in[1].dim(1) * group : in[1].dim(0);
  if (channels.is_const() && in[0].dim(1).is_const() && !(channels == in[0].dim(1))) {
    return fail("SDX-T0323", "X has {} channels; W of shape {} in {} groups takes {}",
                in[0].dim(1).text(), to_string(*in[1].shape), group.text(), channels.text());
  }
  return ok();
}

// One bias per output channel.
inline Status check_conv_bias(const Facts& in, size_t i, const Dim& channels) {
  if (i >= in.size() || !in[i].present() || !in[i].has_rank() || !channels.is_const()) return ok();
  const Dim size = product(*in[i].shape);
  if (!size.is_const() || size == channels) return ok();
  return fail("SDX-T0325", "the bias has shape {}, expected [{}]", to_string(*in[i].shape),
              channels.text());
}

// The kernels' view, without batch and channels.
inline ConvShape kernel_shape(const WindowAxes& axes) { return kernel_axes<ConvShape>(axes); }

// The kernels take tensors with elements.
inline bool conv_has_work(const Call& call) {
  for (const Fact* fact : {&call.in[0], &call.in[1], &call.out[0]}) {
    for (const int64_t d : fact->dims()) {
      if (d == 0) return false;
    }
  }
  return true;
}

}  // namespace sdx::ops
