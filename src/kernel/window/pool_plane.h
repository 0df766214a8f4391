// Pooling of one plane (up to three spatial dimensions) in single precision.
//
// max: the greatest element of the window, NaN if one is NaN, +0 greater than -0; -inf if the
// window is empty. average: the elements of the window added one after the other in row-major
// order, from +0, then divided by the output's own count.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// For (depth, height, width); missing leading dimensions are 1 with stride and dilation 1, pad 0.
struct PoolShape {
  size_t in[3] = {1, 1, 1};
  size_t out[3] = {1, 1, 1};
  size_t kernel[3] = {1, 1, 1};
  size_t stride[3] = {1, 1, 1};
  size_t dilation[3] = {1, 1, 1};
  size_t pad[3] = {0, 0, 0};  // at the beginning

  // Rows are staged with their padding, and for a stride s along the width as columns 0, s, 2s ...,
  // then 1, s + 1 ..., so that sixteen outputs read sixteen contiguous elements.
  size_t phase_size() const {
    return (out[2] + 15) / 16 * 16 + (kernel[2] - 1) * dilation[2] / stride[2] + 1;
  }
  size_t row_size() const { return reads_in_place() ? in[2] : phase_size() * stride[2]; }
  size_t staged_size() const { return reads_in_place() ? 0 : in[0] * in[1] * row_size(); }
  // Nothing happens along the width, which is whole vectors: channels that come last.
  bool reads_in_place() const {
    return kernel[2] == 1 && stride[2] == 1 && pad[2] == 0 && in[2] == out[2] && in[2] % 16 == 0;
  }
};

// `staged`: room for shape.staged_size() floats, aligned to 64. counts: one per output.
SDX_DECLARE_ISAS(void max_pool_plane(const PoolShape&, const float* x, float* y, float* staged);
                 void average_pool_plane(const PoolShape&, const float* x, const float* counts,
                                         float* y, float* staged);)

}  // namespace sdx
