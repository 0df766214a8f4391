// stage_plane: one channel of the input in its staged form (kernel/conv/planes/work.h).
#pragma once

#include <cstddef>
#include <cstring>

#include "kernel/conv/planes/work.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// Whether staged row r along a dimension is read by any output.
inline bool is_read(const ConvShape& s, int dim, size_t r) {
  if (s.stride[dim] == 1 || (s.dilation[dim] == 1 && s.stride[dim] <= s.kernel[dim])) return true;
  for (size_t k = 0; k < s.kernel[dim]; ++k) {
    if (r >= k * s.dilation[dim] && (r - k * s.dilation[dim]) % s.stride[dim] == 0) return true;
  }
  return false;
}

template <class T>
void fill_n(T* out, size_t n, T value) {
  for (size_t i = 0; i < n; ++i) out[i] = value;
}

// Paddings are mostly one or two columns: a store of some lanes is shorter than a loop.
inline void fill_n(float* out, size_t n, float value) {
  const F32 v = F32(value);
  for (; n >= size_t(kLanes); n -= kLanes, out += kLanes) v.store(out);
  if (n != 0) store_first(out, v, n);
}

inline void copy_row(const float* in, size_t n, float* out) {
  for (; n >= size_t(kLanes); n -= kLanes, in += kLanes, out += kLanes) F32::load(in).store(out);
  if (n != 0) store_first(out, load_first(in, n), n);
}
inline void copy_row(const uint8_t* in, size_t n, uint8_t* out) { std::memcpy(out, in, n); }

template <class T>
void copy_every_second(const T* in, size_t n, T* out) {
  for (size_t i = 0; i < n; ++i) out[i] = in[2 * i];
}
#if defined(SDX_ISA_avx512)
inline void copy_every_second(const float* in, size_t n, float* out) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  while (n != 0) {
    // The last output has no odd neighbour to read.
    const size_t count = n < 16 ? n : 16, reach = 2 * count - 1;
    const __m512 low = _mm512_maskz_loadu_ps(__mmask16((1u << (reach < 16 ? reach : 16)) - 1), in);
    const __m512 high = reach > 16
                            ? _mm512_maskz_loadu_ps(__mmask16((1u << (reach - 16)) - 1), in + 16)
                            : _mm512_setzero_ps();
    _mm512_mask_storeu_ps(out, __mmask16((1u << count) - 1),
                          _mm512_permutex2var_ps(low, even, high));
    n -= count, in += 32, out += count;
  }
}
#endif

template <class T>
void copy_every(const T* in, size_t stride, size_t n, T* out) {
  if (stride == 1) {
    copy_row(in, n, out);
  } else if (stride == 2) {
    copy_every_second(in, n, out);
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

// Elements 0, 2, 4 ... of two registers, and 1, 3, 5 ...
template <int... I>
SDX_INLINE void split_pair(F32& a, F32& b, Indices<I...>) {
  const F32 even = __builtin_shufflevector(a.v, b.v, (2 * I)...);
  b = __builtin_shufflevector(a.v, b.v, (2 * I + 1)...);
  a = even;
}
// v[i] becomes the elements i, i + Stride, i + 2 Stride ... of all, for a power of two.
template <int Stride>
SDX_INLINE void split(F32* v) {
  if constexpr (Stride > 1) {
    constexpr int kHalf = Stride / 2;
    F32 even[kHalf], odd[kHalf];
    repeat<kHalf>([&](int i) __attribute__((always_inline)) {
      even[i] = v[2 * i];
      odd[i] = v[2 * i + 1];
      split_pair(even[i], odd[i], typename IndicesBelow<kLanes>::All{});
    });
    split<kHalf>(even);
    split<kHalf>(odd);
    repeat<kHalf>([&](int i) __attribute__((always_inline)) {
      v[2 * i] = even[i];
      v[2 * i + 1] = odd[i];
    });
  }
}

// out[phase * phase_size + i] = in[i * Stride + phase] for i < n: each input is read once.
template <int Stride>
void split_row(const float* in, size_t n, float* out, size_t phase_size) {
  F32 v[Stride];
  const auto whole = [&](size_t i) __attribute__((always_inline)) {
    repeat<Stride>([&](int p) __attribute__((always_inline)) {
      v[p] = F32::load(in + i * Stride + size_t(p * kLanes));
    });
    split<Stride>(v);
    repeat<Stride>([&](int p) __attribute__((always_inline)) {
      v[p].store(out + size_t(p) * phase_size + i);
    });
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) whole(i);
  if (i == n) return;
  if (n >= size_t(kLanes)) return whole(n - kLanes);  // some of them again
  const size_t floats = n * Stride;
  repeat<Stride>([&](int p) __attribute__((always_inline)) {
    const size_t first = size_t(p * kLanes), left = floats > first ? floats - first : 0;
    v[p] = left >= size_t(kLanes) ? F32::load(in + first) : load_first(in + first, left);
  });
  split<Stride>(v);
  repeat<Stride>([&](int p) __attribute__((always_inline)) {
    store_first(out + size_t(p) * phase_size, v[p], n);
  });
}

// Rows [begin, end) of a phase, whichever plane they are in: body(z, y).
template <class Body>
[[gnu::always_inline]] inline void each_row(const Staged& staged, const StagedBand& rows,
                                            Body&& body) {
  size_t z = rows.begin / staged.dims[1], y = rows.begin % staged.dims[1];
  for (size_t row = rows.begin; row < rows.end; ++row) {
    body(z, y);
    if (++y == staged.dims[1]) y = 0, ++z;
  }
}

// Rows whose phases are all there, row by row for all of them.
template <int Stride>
void stage_all_phases(const ConvShape& s, const Staged& staged, const StagedBand& rows,
                      const float* plane, float* out) {
  const size_t width = staged.dims[2], pad = s.pad[2], past = pad + s.in[2];
  // Columns [begin, end) lie inside the input in every phase.
  const size_t begin = least(width, (pad + Stride - 1) / Stride);
  const size_t whole = least(width, past / Stride), end = whole < begin ? begin : whole;
  const auto edge = [&](const float* row, size_t first, size_t last, float* to) {
    for (size_t i = first; i < last; ++i) {
      for (size_t phase = 0; phase < Stride; ++phase) {
        const size_t x = i * Stride + phase - pad;  // before the input: a very large number
        to[phase * staged.phase_size + i] = x < s.in[2] ? row[x] : 0.0f;
      }
    }
  };
  out += rows.begin * width;
  each_row(staged, rows, [&](size_t z, size_t y) {
    float* to = out;
    out += width;
    if (!is_read(s, 0, z) || !is_read(s, 1, y)) return;
    const size_t iz = z - s.pad[0], iy = y - s.pad[1];
    if (iz >= s.in[0] || iy >= s.in[1]) {
      for (size_t phase = 0; phase < Stride; ++phase)
        fill_n(to + phase * staged.phase_size, width, 0.0f);
      return;
    }
    const float* row = plane + (iz * s.in[1] + iy) * s.in[2];
    edge(row, 0, begin, to);
    if (begin < end)
      split_row<Stride>(row + begin * Stride - pad, end - begin, to + begin, staged.phase_size);
    edge(row, end, width, to);
  });
}

// The rows of the band, or its columns if it has the only row.
template <class T>
void stage_plane(const ConvShape& s, const Staged& staged, const StagedBand& band, const T* plane,
                 T padding, T* out) {
  const StagedBand rows = band.of_columns ? StagedBand{0, 1, false} : band;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (staged.phases == s.stride[2]) {
      if (staged.phases == 2) return stage_all_phases<2>(s, staged, rows, plane, out);
      if (staged.phases == 4) return stage_all_phases<4>(s, staged, rows, plane, out);
      if (staged.phases == 8) return stage_all_phases<8>(s, staged, rows, plane, out);
    }
  }
  const size_t width = staged.dims[2], stride = s.stride[2], past = s.pad[2] + s.in[2];
  for (size_t phase = 0; phase < staged.phases; ++phase) {
    // Columns [begin, end) of this phase lie inside the input, from column `first` of it on.
    size_t begin = phase >= s.pad[2] ? 0 : (s.pad[2] - phase + stride - 1) / stride;
    size_t end = phase >= past ? 0 : (past - phase + stride - 1) / stride;
    // What is staged: all columns, or the band's.
    const size_t from = band.of_columns ? band.begin : 0, to = band.of_columns ? band.end : width;
    begin = begin < from ? from : least(begin, to);
    end = end < begin ? begin : least(end, to);
    const size_t first = begin * stride + phase - s.pad[2];
    T* o = out + phase * staged.phase_size + rows.begin * width;
    each_row(staged, rows, [&](size_t z, size_t y) {
      T* row = o;
      o += width;
      if (!is_read(s, 0, z) || !is_read(s, 1, y)) return;
      // A row before the input wraps to a very large number.
      const size_t iz = z - s.pad[0], iy = y - s.pad[1];
      if (iz >= s.in[0] || iy >= s.in[1] || begin == end)
        return fill_n(row + from, to - from, padding);
      fill_n(row + from, begin - from, padding);
      copy_every(plane + (iz * s.in[1] + iy) * s.in[2] + first, stride, end - begin, row + begin);
      fill_n(row + end, to - end, padding);
    });
  }
}

}  // namespace sdx::SDX_ISA
