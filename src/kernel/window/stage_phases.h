// stage_phase: a plane in its phases (kernel/window/phases.h), for *.isa.cc files.
#pragma once

#include "kernel/simd/f32x16.h"
#include "kernel/window/phases.h"

namespace sdx::SDX_ISA {

// Elements First, First + 2 ... of 32.
template <int First = 0>
SDX_INLINE F32x16 every_second(F32x16 low, F32x16 high) {
#if defined(SDX_ISA_avx512)
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(low.v, _mm512_add_epi32(even, _mm512_set1_epi32(First)), high.v);
#elif defined(SDX_ISA_avx2)
  const auto eight = [](Pair<F32> from) {
    constexpr int kTaken = First == 0 ? 0x88 : 0xdd;
    const __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(from.lo.v, from.hi.v, kTaken));
    return F32(_mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xd8)));
  };
  return {eight(low), eight(high)};
#elif defined(SDX_ISA_neon)
  const auto four = [](F32 a, F32 b) {
    return F32((RawF32)(First == 0 ? vuzp1q_f32(a.v, b.v) : vuzp2q_f32(a.v, b.v)));
  };
  const auto eight = [&](F32x16 from) {
    return Pair<F32>{four(from.lo.lo, from.lo.hi), four(from.hi.lo, from.hi.hi)};
  };
  return {eight(low), eight(high)};
#else
  float from[32], to[16];
  store(from, low);
  store(from + 16, high);
  for (int i = 0; i < 16; ++i) to[i] = from[2 * i + First];
  return load(to);
#endif
}

// put(i, sixteen elements from[(i + lane) * stride], how many of them count) for i < n.
template <class Put>
SDX_INLINE void each_vector(const float* from, size_t stride, size_t n, Put put) {
  for (size_t i = 0; i < n; i += 16) {
    const size_t count = n - i < 16 ? n - i : 16;
    if (stride == 1) {
      put(i, count == 16 ? load(from + i) : load_n(from + i, count), count);
    } else if (stride == 2) {
      // The last element has no neighbour to read.
      const size_t reach = 2 * count - 1;
      const F32x16 low = load_n(from + 2 * i, reach < 16 ? reach : 16);
      const F32x16 high = load_n(from + 2 * i + 16, reach < 16 ? 0 : reach - 16);
      put(i, every_second(low, high), count);
    } else {
      float some[16] = {};
      for (size_t j = 0; j < count; ++j) some[j] = from[(i + j) * stride];
      put(i, load(some), count);
    }
  }
}

SDX_INLINE void fill_row(float* to, size_t n, F32x16 value) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(to + i, value);
  if (i < n) store_n(to + i, value, n - i);
}

enum class Borders { fill, keep };

// One phase of plane x, elements as `enter` makes them. Borders are `fill`, or are left as a plane
// of the same shape left them.
template <Borders kBorders, class Shape, class Enter>
SDX_INLINE void stage_phase(const Shape& s, const PhaseRows& p, const float* x, F32x16 fill,
                            float* to, Enter enter) {
  const size_t width = p.dims[2], begin = p.begin, end = p.end, stride = s.stride[2];
  // Of the first element in the image; before the image it wraps.
  const size_t column = begin * stride + p.first[2] - s.pad[2];
  for (size_t z = 0; z < p.dims[0]; ++z) {
    const size_t iz = z * s.stride[0] + p.first[0] - s.pad[0];
    for (size_t y = 0; y < p.dims[1]; ++y, to += width) {
      const size_t iy = y * s.stride[1] + p.first[1] - s.pad[1];
      if (iz >= s.in[0] || iy >= s.in[1] || begin == end) {
        if (kBorders == Borders::fill) fill_row(to, width, fill);
        continue;
      }
      float* inner = to + begin;
      each_vector(
          x + (iz * s.in[1] + iy) * s.in[2] + column, stride,
          end - begin, [&](size_t i, F32x16 some, size_t count) __attribute__((always_inline)) {
            if (count == 16) {
              store(inner + i, enter(some));
            } else {
              store_n(inner + i, enter(some), count);
            }
          });
      if (kBorders == Borders::keep) continue;
      if (begin != 0) fill_row(to, begin, fill);
      if (end < width) fill_row(to + end, width - end, fill);
    }
  }
}

}  // namespace sdx::SDX_ISA
