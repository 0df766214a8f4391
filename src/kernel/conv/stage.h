// stage_plane: one channel of the input in its staged form (kernel/conv/block.h).
#pragma once

#include <cstddef>
#include <cstring>

#include "kernel/conv/block.h"

namespace sdx::SDX_ISA {

// Whether staged row r along a dimension is read by any output.
inline bool is_read(size_t r, size_t kernel, size_t dilation, size_t stride) {
  for (size_t k = 0; k < kernel; ++k) {
    if (r >= k * dilation && (r - k * dilation) % stride == 0) return true;
  }
  return false;
}

template <class T>
void fill_n(T* out, size_t n, T value) {
  for (size_t i = 0; i < n; ++i) out[i] = value;
}

template <class T>
void copy_every(const T* in, size_t stride, size_t n, T* out) {
  if (stride == 1) {
    std::memcpy(out, in, n * sizeof(T));
  } else if (stride == 2) {
    for (size_t i = 0; i < n; ++i) out[i] = in[2 * i];
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

template <class T>
void stage_plane(const ConvShape& s, const Staged& staged, const T* plane, T padding, T* out) {
  const size_t width = staged.dims[2], stride = s.stride[2], past = s.pad[2] + s.in[2];
  for (size_t z = 0; z < staged.dims[0]; ++z) {
    if (!is_read(z, s.kernel[0], s.dilation[0], s.stride[0])) continue;
    for (size_t y = 0; y < staged.dims[1]; ++y) {
      if (!is_read(y, s.kernel[1], s.dilation[1], s.stride[1])) continue;
      // A row before the input wraps to a very large number.
      const size_t iz = z - s.pad[0], iy = y - s.pad[1];
      const bool inside = iz < s.in[0] && iy < s.in[1];
      for (size_t phase = 0; phase < staged.phases; ++phase) {
        T* o = out + phase * staged.phase_size + (z * staged.dims[1] + y) * width;
        // Columns [begin, end) of this phase lie inside the input.
        size_t begin = phase >= s.pad[2] ? 0 : (s.pad[2] - phase + stride - 1) / stride;
        size_t end = phase >= past ? 0 : (past - phase + stride - 1) / stride;
        if (end > width) end = width;
        if (!inside || begin >= end) {
          fill_n(o, width, padding);
          continue;
        }
        const T* row = plane + (iz * s.in[1] + iy) * s.in[2];
        fill_n(o, begin, padding);
        copy_every(row + begin * stride + phase - s.pad[2], stride, end - begin, o + begin);
        fill_n(o + end, width - end, padding);
      }
    }
  }
}

}  // namespace sdx::SDX_ISA
