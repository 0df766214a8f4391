#include "kernel/window/pool_plane.h"

#include <cstring>

#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {
namespace {

// Integers in the order of floats, NaN above all: the greatest of many is then one integer
// comparison each.
SDX_INLINE I32x16 key_of(F32x16 x) {
  const I32x16 i = bits(lanes::canonical(x));
  return i ^ ((i >> 31) & I32x16(0x7fffffff));
}
SDX_INLINE F32x16 float_of(I32x16 key) {
  return from_bits(key ^ ((key >> 31) & I32x16(0x7fffffff)));
}

void stage(const PoolShape& s, const float* x, float fill, float* staged) {
  const size_t width = s.in[2], stride = s.stride[2], pad = s.pad[2], phase = s.phase_size();
  for (size_t row = 0; row < s.in[0] * s.in[1]; ++row, x += width) {
    for (size_t p = 0; p < stride; ++p, staged += phase) {
      // Element j holds column j * stride + p - pad.
      size_t begin = p >= pad ? 0 : (pad - p + stride - 1) / stride;
      size_t end = width + pad > p ? (width + pad - p + stride - 1) / stride : 0;
      if (begin > phase) begin = phase;
      if (end > phase) end = phase;
      if (end < begin) end = begin;
      for (size_t j = 0; j < begin; ++j) staged[j] = fill;
      const float* from = x + begin * stride + p - pad;
      if (stride == 1) {
        memcpy(staged + begin, from, (end - begin) * sizeof(float));
      } else {
        for (size_t j = begin; j < end; ++j, from += stride) staged[j] = *from;
      }
      for (size_t j = end; j < phase; ++j) staged[j] = fill;
    }
  }
}

// take(acc, sixteen staged elements) over the window of sixteen outputs from `first` on, padding
// rows left out.
template <class Acc, class Take>
SDX_INLINE Acc window(const PoolShape& s, const float* staged, size_t z, size_t y, size_t first,
                      Acc acc, Take take) {
  const size_t row_size = s.row_size(), phase = s.phase_size();
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    const size_t iz = z * s.stride[0] + kz * s.dilation[0] -
                      s.pad[0];  // wraps to a very large one before the input
    if (iz >= s.in[0]) continue;
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      const size_t iy = y * s.stride[1] + ky * s.dilation[1] - s.pad[1];
      if (iy >= s.in[1]) continue;
      const float* row = staged + (iz * s.in[1] + iy) * row_size + first;
      for (size_t kx = 0; kx < s.kernel[2]; ++kx) {
        const size_t column = kx * s.dilation[2];
        acc = take(acc, row + column % s.stride[2] * phase + column / s.stride[2]);
      }
    }
  }
  return acc;
}

template <class Body>
SDX_INLINE void each_block(const PoolShape& s, Body body) {
  size_t at = 0;
  for (size_t z = 0; z < s.out[0]; ++z) {
    for (size_t y = 0; y < s.out[1]; ++y, at += s.out[2]) {
      for (size_t x = 0; x < s.out[2]; x += 16)
        body(z, y, x, at + x, s.out[2] - x < 16 ? s.out[2] - x : 16);
    }
  }
}

SDX_INLINE I32x16 load_keys(const float* p) { return bits(load(p)); }

}  // namespace

void max_pool_plane(const PoolShape& s, const float* x, float* y, float* staged) {
  const float none = -__builtin_inff();
  if (s.reads_in_place()) {
    each_block(s, [&](size_t z, size_t row, size_t first, size_t at, size_t) {
      const I32x16 best =
          window(s, x, z, row, first, key_of(F32x16(none)), [](I32x16 acc, const float* p) {
            const I32x16 key = key_of(load(p));
            return select(key > acc, key, acc);
          });
      store(y + at, float_of(best));
    });
    return;
  }
  stage(s, x, none, staged);
  // The last block of a plane may be shorter than a vector; what lies behind it is not touched.
  const size_t size = s.staged_size();
  for (size_t i = 0; i < size; i += 16) {
    const size_t count = size - i < 16 ? size - i : 16;
    store_n(staged + i, from_bits(key_of(load_n(staged + i, count))), count);
  }
  each_block(s, [&](size_t z, size_t row, size_t first, size_t at, size_t count) {
    const I32x16 best =
        window(s, staged, z, row, first, key_of(F32x16(none)), [](I32x16 acc, const float* p) {
          const I32x16 key = load_keys(p);
          return select(key > acc, key, acc);
        });
    store_n(y + at, float_of(best), count);
  });
}

void average_pool_plane(const PoolShape& s, const float* x, const float* counts, float* y,
                        float* staged) {
  if (!s.reads_in_place()) {
    stage(s, x, 0.0f, staged);
    x = staged;
  }
  each_block(s, [&](size_t z, size_t row, size_t first, size_t at, size_t count) {
    const F32x16 sum = window(s, x, z, row, first, F32x16(0.0f),
                              [](F32x16 acc, const float* p) { return acc + load(p); });
    store_n(y + at, lanes::canonical(sum / load_n(counts + at, count, 1.0f)), count);
  });
}

}  // namespace sdx::SDX_ISA
