// ConvShape: the sizes of a convolution, which all of them share. The folders beside this file are
// the convolutions, named by how their tensors lie:
//
//   planes               [batch][channel][depth][row][column] of floats, up to three dimensions
//   int8_planes          the same of bytes, to 32-bit sums or bytes
//   channels_last        [batch][row][column][channel] of floats, as matrix products read and write
//   int8_channels_last   the same of bytes, quantised again to bytes
//   blocked              [batch][channel / 16][row][column][channel % 16] of floats
//   transposed           transposed convolutions of planes
//   depthwise            what channels_last and blocked share where each channel is by itself
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/fitting.h"

namespace sdx {

// Sizes and steps are for (depth, height, width); missing leading dimensions are 1 with stride and
// dilation 1, pad 0.
struct ConvShape {
  size_t batch = 1, groups = 1;
  size_t in_channels = 0, out_channels = 0;  // of all groups together
  size_t in[3] = {1, 1, 1};
  size_t out[3] = {1, 1, 1};  // what lies beyond the input is padding, at the end too
  size_t kernel[3] = {1, 1, 1};
  size_t stride[3] = {1, 1, 1};
  size_t dilation[3] = {1, 1, 1};
  size_t pad[3] = {0, 0, 0};  // at the beginning
};

inline size_t conv_taps(const ConvShape& s) { return s.kernel[0] * s.kernel[1] * s.kernel[2]; }
// Output positions of one image.
inline size_t conv_positions(const ConvShape& s) { return s.out[0] * s.out[1] * s.out[2]; }
inline size_t conv_input_positions(const ConvShape& s) { return s.in[0] * s.in[1] * s.in[2]; }
// Steps of one output's reduction.
inline size_t conv_depth(const ConvShape& s) { return s.in_channels / s.groups * conv_taps(s); }
// Input positions along a dimension that the outputs meet, paddings included.
inline size_t conv_reach(const ConvShape& s, int dim) {
  return (s.out[dim] - 1) * s.stride[dim] + (s.kernel[dim] - 1) * s.dilation[dim] + 1;
}

// Throws std::bad_alloc if no memory can hold what kernels make of the weights or of one image: its
// padding included, and channels in whole vectors.
template <class Shape>
void window_must_fit(const Shape& s, size_t in_channels, size_t out_channels, size_t depth) {
  constexpr double kVectors = 64;
  double staged = double(in_channels) + kVectors, result = double(out_channels) + kVectors;
  must_fit(result * (double(depth) + kVectors));
  for (size_t i = 0; i < std::size(s.in); ++i) {
    const double reach =
        double(s.out[i]) * double(s.stride[i]) + double(s.kernel[i]) * double(s.dilation[i]);
    staged *= std::max(double(s.in[i]), reach);
    result *= double(s.out[i]);
  }
  must_fit(std::max(staged, result));
}
inline ConvShape within_memory(const ConvShape& s) {
  window_must_fit(s, s.in_channels, s.out_channels, conv_depth(s));
  return s;
}

}  // namespace sdx
