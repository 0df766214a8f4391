// Operands copied into the order in which tiles read them, widened to float on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(SDX_ISA_avx512)
#include <immintrin.h>
#endif

#include "base/dtype.h"
#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {

// Rows of 16-bit elements, sixteen at a time.
inline void widen_row(const uint16_t* in, DType type, size_t n, float* out) {
  const auto widen = [type](const uint16_t* p) {
    return type == DType::f16 ? load_f16(p) : load_bf16(p);
  };
  size_t i = 0;
  for (; i + 16 <= n; i += 16) widen(in + i).store(out + i);
  if (i == n) return;
  uint16_t rest[16] = {};
  float wide[16];
  std::memcpy(rest, in + i, (n - i) * sizeof(uint16_t));
  widen(rest).store(wide);
  std::memcpy(out + i, wide, (n - i) * sizeof(float));
}
// Round to nearest even; NaN is canonical.
inline void narrow_row(const float* in, DType type, size_t n, uint16_t* out) {
  const auto narrow = [type](const float* p, uint16_t* to) {
    type == DType::f16 ? store_f16(to, F32x16::load(p)) : store_bf16(to, F32x16::load(p));
  };
  size_t i = 0;
  for (; i + 16 <= n; i += 16) narrow(in + i, out + i);
  if (i == n) return;
  float rest[16] = {};
  uint16_t rounded[16];
  std::memcpy(rest, in + i, (n - i) * sizeof(float));
  narrow(rest, rounded);
  std::memcpy(out + i, rounded, (n - i) * sizeof(uint16_t));
}
inline float widen_one(uint16_t h, DType type) {
  float x;
  widen_row(&h, type, 1, &x);
  return x;
}
inline uint16_t narrow_one(float x, DType type) {
  uint16_t h;
  narrow_row(&x, type, 1, &h);
  return h;
}

typedef float Quad __attribute__((vector_size(16)));

inline Quad quad_load(const float* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return q;
}

// out[k * step + row] = in[row * stride + k], four by four.
inline void pack_quads(const float* in, size_t stride, size_t rows, size_t k, float* out,
                       size_t step) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* p = in + r * stride;
    float* o = out + r;
    size_t i = 0;
    for (; i + 4 <= k; i += 4, p += 4) {
      const Quad a = quad_load(p), b = quad_load(p + stride);
      const Quad c = quad_load(p + 2 * stride), d = quad_load(p + 3 * stride);
      const Quad ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Quad cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Quad t[4] = {__builtin_shufflevector(ab0, cd0, 0, 1, 4, 5),
                         __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7),
                         __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5),
                         __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7)};
      for (int j = 0; j < 4; ++j, o += step) std::memcpy(o, &t[j], sizeof t[j]);
    }
    for (; i < k; ++i, ++p, o += step) {
      for (size_t j = 0; j < 4; ++j) o[j] = p[j * stride];
    }
  }
  for (size_t left = rows % 4; left != 0; --left, ++r) {
    const float* p = in + r * stride;
    float* o = out + r;
    for (size_t i = 0; i < k; ++i, o += step) *o = p[i];
  }
}

#if defined(SDX_ISA_avx512)
// The same of sixteen rows and sixteen k: pairs, then fours within each quarter of a vector, then
// the quarters change places.
inline void transpose_16(const float* in, size_t stride, float* out, size_t step) {
  __m512 r[16], t[16];
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_ps(in + size_t(i) * stride);
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  const auto low = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  const auto high = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  for (int i = 0; i < 16; i += 4) {
    r[i] = low(t[i], t[i + 2]);
    r[i + 1] = high(t[i], t[i + 2]);
    r[i + 2] = low(t[i + 1], t[i + 3]);
    r[i + 3] = high(t[i + 1], t[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 even = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88),
                 even_2 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
    const __m512 odd = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd),
                 odd_2 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
    float* o = out + size_t(j) * step;
    _mm512_storeu_ps(o, _mm512_shuffle_f32x4(even, even_2, 0x88));
    _mm512_storeu_ps(o + 4 * step, _mm512_shuffle_f32x4(odd, odd_2, 0x88));
    _mm512_storeu_ps(o + 8 * step, _mm512_shuffle_f32x4(even, even_2, 0xdd));
    _mm512_storeu_ps(o + 12 * step, _mm512_shuffle_f32x4(odd, odd_2, 0xdd));
  }
}
#endif

// out[k * step + row] = in[row * stride + k].
inline void pack_transposed(const float* in, size_t stride, size_t rows, size_t k, float* out,
                            size_t step) {
  size_t r = 0;
#if defined(SDX_ISA_avx512)
  for (; r + 16 <= rows; r += 16) {
    size_t i = 0;
    for (; i + 16 <= k; i += 16)
      transpose_16(in + r * stride + i, stride, out + i * step + r, step);
    pack_quads(in + r * stride + i, stride, 16, k - i, out + i * step + r, step);
  }
#endif
  pack_quads(in + r * stride, stride, rows - r, k, out + r, step);
}

// 16-bit rows are widened this many elements at a time, then transposed: both fit the first cache.
inline constexpr size_t kWidened = 64, kWidenedRows = 32;

// out[k * step + row] = in[row * row_stride + k * k_stride].
inline void pack_any(const void* in, DType type, size_t row_stride, size_t k_stride, size_t rows,
                     size_t k, float* out, size_t step) {
  const float* p = static_cast<const float*>(in);
  if (type == DType::f32) {
    if (k_stride == 1) return pack_transposed(p, row_stride, rows, k, out, step);
    if (row_stride == 1) {
      for (size_t i = 0; i < k; ++i)
        std::memcpy(out + i * step, p + i * k_stride, rows * sizeof(float));
      return;
    }
    for (size_t i = 0; i < k; ++i) {
      for (size_t r = 0; r < rows; ++r) out[i * step + r] = p[r * row_stride + i * k_stride];
    }
    return;
  }
  const uint16_t* h = static_cast<const uint16_t*>(in);
  if (row_stride == 1) {
    for (size_t i = 0; i < k; ++i) widen_row(h + i * k_stride, type, rows, out + i * step);
  } else if (k_stride == 1 && rows <= kWidenedRows) {
    alignas(64) float wide[kWidenedRows * kWidened];
    for (size_t i = 0; i < k; i += kWidened) {
      const size_t n = k - i < kWidened ? k - i : kWidened;
      for (size_t r = 0; r < rows; ++r)
        widen_row(h + r * row_stride + i, type, n, wide + r * kWidened);
      pack_transposed(wide, kWidened, rows, n, out + i * step, step);
    }
  } else {
    for (size_t i = 0; i < k; ++i) {
      for (size_t r = 0; r < rows; ++r)
        out[i * step + r] = widen_one(h[r * row_stride + i * k_stride], type);
    }
  }
}

}  // namespace sdx::SDX_ISA
