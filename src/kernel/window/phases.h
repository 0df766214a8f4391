// Planes in phases: how pooling and depthwise convolutions lay an image out so that its outputs are
// one long row.
//
// A plane is staged with its padding, and along a dimension of stride s as positions 0, s, 2s ...,
// then 1, s + 1 ..., which are planes of their own, the phases. Whatever the strides, a tap then
// lies at one distance from every output, and the outputs' rows one behind the other fill whole
// vectors, however narrow the image is. What is computed between the rows is left behind.
//
// A Shape has in, out, kernel, stride, dilation and pad (at the beginning) for (depth, height,
// width).
#pragma once

#include <cstddef>

namespace sdx {

template <class Shape>
[[gnu::always_inline]] inline size_t phases_along(const Shape& s, int dim) {
  const size_t reach = (s.kernel[dim] - 1) * s.dilation[dim] + 1;
  return s.stride[dim] < reach ? s.stride[dim] : reach;
}
template <class Shape>
[[gnu::always_inline]] inline size_t phase_count(const Shape& s) {
  return phases_along(s, 0) * phases_along(s, 1) * phases_along(s, 2);
}
// Positions of a phase that the outputs meet.
template <class Shape>
[[gnu::always_inline]] inline size_t phase_dim(const Shape& s, int dim) {
  return s.out[dim] + (s.kernel[dim] - 1) * s.dilation[dim] / s.stride[dim];
}
template <class Shape>
[[gnu::always_inline]] inline size_t phase_size(const Shape& s) {
  return phase_dim(s, 0) * phase_dim(s, 1) * phase_dim(s, 2);
}
// Positions of a phase from the first output to the last.
template <class Shape>
[[gnu::always_inline]] inline size_t outputs_span(const Shape& s) {
  return ((s.out[0] - 1) * phase_dim(s, 1) + s.out[1] - 1) * phase_dim(s, 2) + s.out[2];
}
// What may be read behind the phases, and written behind their outputs, in floats.
inline constexpr size_t kPhaseSlack = 128;

// The rows of one phase: element j holds column j * stride + first[2] - pad, elements [begin, end)
// lie in the image.
struct PhaseRows {
  size_t dims[3], first[3], begin, end;
};

// phase[i] for i < phase_count(s): once for all planes of a shape, since it takes divisions.
template <class Shape>
[[gnu::always_inline]] inline void find_phases(const Shape& s, PhaseRows* phase) {
  const size_t rows = phases_along(s, 1), columns = phases_along(s, 2);
  const size_t stride = s.stride[2], pad = s.pad[2], past = s.in[2] + pad;
  for (size_t i = 0; i < phase_count(s); ++i, ++phase) {
    for (int dim = 0; dim < 3; ++dim) phase->dims[dim] = phase_dim(s, dim);
    const size_t column = i % columns;
    phase->first[0] = i / columns / rows;
    phase->first[1] = i / columns % rows;
    phase->first[2] = column;
    phase->begin = column >= pad ? 0 : (pad - column + stride - 1) / stride;
    phase->end = past > column ? (past - column + stride - 1) / stride : 0;
    if (phase->end > phase->dims[2]) phase->end = phase->dims[2];
    if (phase->begin >= phase->end) phase->begin = phase->end = 0;
  }
}

// tap[k]: how far tap k lies from its output, if a phase lies `step` from the one before.
template <class Shape>
[[gnu::always_inline]] inline void find_taps(const Shape& s, size_t step, size_t* tap) {
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      for (size_t kx = 0; kx < s.kernel[2]; ++kx) {
        const size_t at[3] = {kz * s.dilation[0], ky * s.dilation[1], kx * s.dilation[2]};
        size_t phase = 0, offset = 0;
        for (int i = 0; i < 3; ++i) {
          phase = phase * phases_along(s, i) + at[i] % s.stride[i];
          offset = offset * phase_dim(s, i) + at[i] / s.stride[i];
        }
        *tap++ = phase * step + offset;
      }
    }
  }
}

}  // namespace sdx
