// What becomes of sums of products: zero points, and then integers, floats with what follows them,
// or bytes.
#pragma once

#include "kernel/gemm_int8/block.h"
#include "kernel/gemm_int8/saturate.h"
#include "kernel/simd/bytes.h"
#include "kernel/simd/registers.h"

namespace sdx::SDX_ISA {

#if !defined(SDX_ISA_avx512)

SDX_INLINE I32 product(I32 a, I32 b) { return (RawI32)((RawU32)a.v * (RawU32)b.v); }
template <class T>
SDX_INLINE Pair<T> product(Pair<T> a, Pair<T> b) {
  return {product(a.lo, b.lo), product(a.hi, b.hi)};
}

// Up to sixteen integers.
SDX_INLINE I32x16 load_ints(const int32_t* p, size_t n) {
  if (n >= 16) return I32x16::load(p);
  int32_t lanes[16] = {};
  memcpy(lanes, p, n * sizeof(int32_t));
  return I32x16::load(lanes);
}
SDX_INLINE void store_ints(int32_t* p, I32x16 a, size_t n) {
  if (n >= 16) return a.store(p);
  int32_t lanes[16];
  a.store(lanes);
  memcpy(p, lanes, n * sizeof(int32_t));
}

#endif

inline int32_t zero_at(const int32_t* zero, size_t step, int32_t add, size_t i) {
  return int32_t((zero == nullptr ? 0u : uint32_t(zero[i * step])) + uint32_t(add));
}

// One row of sums less a_zero times the columns' sums, plus `add`, as bytes.
struct RequantizeRow {
  uint32_t a_zero, add;
  float ratio;
  int32_t zero, low;
};

inline void requantize_row(const RequantizeRow& t, const int32_t* sum, const int32_t* col_sum,
                           size_t cols, uint8_t* y) {
#if defined(SDX_ISA_avx512)
  const __m512i a_zero = _mm512_set1_epi32(int(t.a_zero)), add = _mm512_set1_epi32(int(t.add));
  const __m512i zero = _mm512_set1_epi32(t.zero), low = _mm512_set1_epi32(t.low),
                high = _mm512_set1_epi32(t.low + 255);
  const __m512 ratio = _mm512_set1_ps(t.ratio), far = _mm512_set1_ps(kFar),
               near = _mm512_set1_ps(-kFar);
  for (size_t j = 0; j < cols; j += 16) {
    const __mmask16 some = cols - j >= 16 ? __mmask16(0xffff) : first_lanes(cols - j);
    __m512i s = _mm512_add_epi32(_mm512_maskz_loadu_epi32(some, sum + j), add);
    if (col_sum != nullptr) {
      const __m512i c = _mm512_maskz_loadu_epi32(some, col_sum + j);
      s = _mm512_sub_epi32(s, _mm512_mullo_epi32(a_zero, c));
    }
    __m512 q = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(some, s), ratio);
    q = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
    q = _mm512_maskz_max_ps(some, _mm512_maskz_min_ps(some, q, far), near);
    __m512i i =
        _mm512_maskz_cvt_roundps_epi32(some, q, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    i = _mm512_add_epi32(i, zero);
    i = _mm512_maskz_min_epi32(some, _mm512_maskz_max_epi32(some, i, low), high);
    _mm512_mask_cvtepi32_storeu_epi8(y + j, some, i);
  }
#else
  const float low = float(t.low - t.zero);
  const I32x16 a_zero = int32_t(t.a_zero), add = int32_t(t.add);
  for (size_t j = 0; j < cols; j += 16) {
    const size_t some = cols - j;
    I32x16 s = load_ints(sum + j, some) + add;
    if (col_sum != nullptr) s = s - product(a_zero, load_ints(col_sum + j, some));
    F32x16 q = to_f32(s) * F32x16(t.ratio);
    q = select(q == q, q, F32x16(0.0f));
    q = min_raw(max_raw(q, F32x16(low)), F32x16(low + 255));
    const I32x16 bytes = nearest_i32(q) + I32x16(t.zero);
    some >= 16 ? store_bytes(y + j, bytes) : store_bytes_n(y + j, bytes, some);
  }
#endif
}

// What follows a sum that is a float, at a row and column from the corner of `f`.
#if defined(SDX_ISA_avx512)
[[gnu::always_inline]] inline F32 finished(const AffineEpilogue& f, F32 v, size_t row, size_t col,
                                           __mmask16 some) {
  v = v * F32(f.alpha);
  if (f.bias != nullptr) {
    const float* bias = f.bias + row * f.bias_row;
    const F32 x = f.bias_col == 0 ? F32(*bias) : _mm512_maskz_loadu_ps(some, bias + col);
    v = v + x * F32(f.beta);
  }
  if (f.other != nullptr) v = v + _mm512_maskz_loadu_ps(some, f.other + row * f.other_row + col);
  return lanes::canonical(v);
}
#else
SDX_INLINE F32x16 finished(const AffineEpilogue& f, F32x16 v, size_t row, size_t col, size_t some) {
  const auto take = [&](const float* p) __attribute__((always_inline)) {
    return some >= 16 ? load(p) : load_n(p, some);
  };
  v = v * F32x16(f.alpha);
  if (f.bias != nullptr) {
    const float* bias = f.bias + row * f.bias_row;
    v = v + (f.bias_col == 0 ? F32x16(*bias) : take(bias + col)) * F32x16(f.beta);
  }
  if (f.other != nullptr) v = v + take(f.other + row * f.other_row + col);
  return lanes::canonical(v);
}
#endif

// A row block's sums of products against one panel, [row][kPanel]: zero points, and into C. `a` has
// the rows' sums, `less` what was taken from each of their elements beforehand, or is null.
inline void end_panel(const Int8Block& g, size_t row, size_t rows, size_t col, const int32_t* a,
                      const int32_t* panel, const int32_t* sum, const int32_t* less = nullptr) {
  const size_t cols = kPanel < g.cols - col ? kPanel : g.cols - col;
  const auto zero_of_row = [&](size_t r) {
    const int32_t zero = zero_at(g.a_zero, g.a_zero_step, g.a_zero_add, row + r);
    return uint32_t(zero) - uint32_t(less == nullptr ? 0 : less[r]);
  };
  if (const Requantize& to = g.requantize; to.y != nullptr) {
    const uint32_t b_zero = uint32_t(zero_at(g.b_zero, 0, g.b_zero_add, 0));
    for (size_t r = 0; r < rows; ++r) {
      const uint32_t a_zero = zero_of_row(r);
      const uint32_t a_rest = uint32_t(a[r]) - uint32_t(g.k) * a_zero;
      const uint32_t bias = to.bias == nullptr ? 0 : uint32_t(to.bias[row + r]);
      requantize_row(
          {a_zero, bias - b_zero * a_rest, to.ratio[row + r], to.zero, to.is_signed ? -128 : 0},
          sum + r * kPanel, panel, cols, to.y + (row + r) * g.ldc + col);
    }
    return;
  }
  int32_t b_zero[kPanel] = {};
  [[maybe_unused]] bool b_zeros = false;
  for (size_t j = 0; j < cols; ++j) {
    b_zero[j] = zero_at(g.b_zero, g.b_zero_step, g.b_zero_add, col + j);
    b_zeros |= b_zero[j] != 0;
  }
  for (size_t r = 0; r < rows; ++r) {
    const uint32_t a_zero = zero_of_row(r);
    const uint32_t a_rest = uint32_t(a[r]) - uint32_t(g.k) * a_zero;
    const size_t at = (row + r) * g.ldc + col;
#if defined(SDX_ISA_avx512)
    for (size_t j = 0; j < cols; j += 16) {
      const __mmask16 some = cols - j >= 16 ? __mmask16(0xffff) : first_lanes(cols - j);
      const __m512i zeros = _mm512_add_epi32(
          _mm512_mullo_epi32(_mm512_set1_epi32(int(a_zero)), _mm512_loadu_si512(panel + j)),
          _mm512_mullo_epi32(_mm512_set1_epi32(int(a_rest)), _mm512_loadu_si512(b_zero + j)));
      const __m512i whole = _mm512_sub_epi32(_mm512_loadu_si512(sum + r * kPanel + j), zeros);
      if (g.y != nullptr) {
        const F32 v = finished(g.affine, _mm512_cvtepi32_ps(whole), row + r, col + j, some);
        _mm512_mask_storeu_ps(g.y + at + j, some, v.v);
      } else {
        _mm512_mask_storeu_epi32(g.c + at + j, some, whole);
      }
    }
#else
    for (size_t j = 0; j < cols; j += 16) {
      const size_t some = cols - j;
      I32x16 whole = I32x16::load(sum + r * kPanel + j);
      if (a_zero != 0) whole = whole - product(I32x16(int32_t(a_zero)), I32x16::load(panel + j));
      if (b_zeros) whole = whole - product(I32x16(int32_t(a_rest)), I32x16::load(b_zero + j));
      if (g.y != nullptr) {
        const F32x16 v = finished(g.affine, to_f32(whole), row + r, col + j, some);
        some >= 16 ? store(g.y + at + j, v) : store_n(g.y + at + j, v, some);
      } else {
        store_ints(g.c + at + j, whole, some);
      }
    }
#endif
  }
}

}  // namespace sdx::SDX_ISA
