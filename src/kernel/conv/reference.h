// The meaning of convolutions, to the bit: scalar, the order of operations in the open.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/gemm/reference.h"

namespace sdx::reference {

// f(channel, kd, kh, kw) in the order of the reduction: (channel / 16, kd, kh, kw, channel % 16).
template <class F>
void for_each_tap(size_t channels, const size_t kernel[3], F&& f) {
  for (size_t block = 0; block < channels; block += 16) {
    const size_t end = block + 16 < channels ? block + 16 : channels;
    for (size_t kd = 0; kd < kernel[0]; ++kd) {
      for (size_t kh = 0; kh < kernel[1]; ++kh) {
        for (size_t kw = 0; kw < kernel[2]; ++kw) {
          for (size_t c = block; c < end; ++c) f(c, kd, kh, kw);
        }
      }
    }
  }
}

// f(n, output channel, od, oh, ow) for every output.
template <class F>
void for_each_output(const ConvShape& s, F&& f) {
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t o = 0; o < s.out_channels; ++o) {
      for (size_t z = 0; z < s.out[0]; ++z) {
        for (size_t y = 0; y < s.out[1]; ++y) {
          for (size_t x = 0; x < s.out[2]; ++x) f(n, o, z, y, x);
        }
      }
    }
  }
}

// T is float or double; w is [out_channels][in_channels / groups][kernel...], bias may be null.
template <class T>
void conv(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  for_each_output(s, [&](size_t n, size_t o, size_t oz, size_t oy, size_t ox) {
    T acc = 0;
    for_each_tap(in_group, s.kernel, [&](size_t c, size_t kd, size_t kh, size_t kw) {
      // Unsigned arithmetic: a position before the input wraps to a very large one.
      const size_t iz = oz * s.stride[0] + kd * s.dilation[0] - s.pad[0];
      const size_t iy = oy * s.stride[1] + kh * s.dilation[1] - s.pad[1];
      const size_t ix = ox * s.stride[2] + kw * s.dilation[2] - s.pad[2];
      const size_t channel = n * s.in_channels + o / out_group * in_group + c;
      const bool inside = iz < s.in[0] && iy < s.in[1] && ix < s.in[2];
      const T value = inside ? x[((channel * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + ix] : T(0);
      const T weight =
          w[(((o * in_group + c) * s.kernel[0] + kd) * s.kernel[1] + kh) * s.kernel[2] + kw];
      acc = std::fma(weight, value, acc);
    });
    if (bias != nullptr) acc = acc + bias[o];
    *y++ = canonical(acc);
  });
}

// Input i meets output o = i * stride + k * dilation - pad at tap k; false where output o has no
// input at that tap.
inline bool transposed_input(const ConvShape& s, int dim, size_t o, size_t k, size_t* i) {
  const size_t ahead = o + s.pad[dim], back = k * s.dilation[dim];
  if (ahead < back || (ahead - back) % s.stride[dim] != 0) return false;
  *i = (ahead - back) / s.stride[dim];
  return *i < s.in[dim];
}

// w is [in_channels][out_channels / groups][kernel...]. The chain has the same order as conv's,
// over the inputs that exist: there is no padding to take part.
template <class T>
void conv_transpose(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  for_each_output(s, [&](size_t n, size_t o, size_t oz, size_t oy, size_t ox) {
    T acc = 0;
    for_each_tap(in_group, s.kernel, [&](size_t c, size_t kd, size_t kh, size_t kw) {
      size_t iz, iy, ix;
      if (!transposed_input(s, 0, oz, kd, &iz) || !transposed_input(s, 1, oy, kh, &iy) ||
          !transposed_input(s, 2, ox, kw, &ix)) {
        return;
      }
      const size_t channel = o / out_group * in_group + c;
      const T value =
          x[(((n * s.in_channels + channel) * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + ix];
      const size_t row = channel * out_group + o % out_group;
      const T weight = w[((row * s.kernel[0] + kd) * s.kernel[1] + kh) * s.kernel[2] + kw];
      acc = std::fma(weight, value, acc);
    });
    if (bias != nullptr) acc = acc + bias[o];
    *y++ = canonical(acc);
  });
}

}  // namespace sdx::reference
