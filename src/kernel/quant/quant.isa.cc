#include "kernel/quant/quant.h"

#include "kernel/gemm/pack.h"
#include "kernel/simd/bytes.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

// The nearest integer of q, plus z, in the range of Int.
template <class Int>
[[gnu::always_inline]] inline Int saturated(float q, int z) {
  constexpr int kLow = Int(-1) < Int(0) ? -128 : 0;
  // Beyond 2^20 everything saturates; up to there, adding and taking away 1.5 * 2^23 rounds half to
  // even.
  constexpr float kFar = 0x1p20f, kMagic = 0x1.8p23f;
  q = q == q ? q : 0.0f;
  q = q < kFar ? q : kFar;
  q = q > -kFar ? q : -kFar;
  int i = int((q + kMagic) - kMagic) + z;
  i = i > kLow ? i : kLow;
  return Int(i < kLow + 255 ? i : kLow + 255);
}

// Loops over an 8-bit type, with the scale and zero point fixed outside or walking along: each is a
// plain loop that the compiler turns into vectors.
template <class Int>
void requantize(const int32_t* c, Int* y, size_t n, const float* ratio, size_t step, int32_t zero) {
  if (step == 0) {
    const float r = *ratio;
    for (size_t i = 0; i < n; ++i) y[i] = saturated<Int>(float(c[i]) * r, zero);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = saturated<Int>(float(c[i]) * ratio[i], zero);
  }
}

#if defined(SDX_ISA_avx512)

template <class Int>
[[gnu::always_inline]] inline __m512i bytes_16(const Int* x, __mmask16 some) {
  const __m128i bytes = _mm_maskz_loadu_epi8(some, x);
  return Int(-1) < Int(0) ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
[[gnu::always_inline]] inline __mmask16 first_of(size_t n) {
  return n >= 16 ? __mmask16(0xffff) : __mmask16((1u << n) - 1);
}

// Sixteen at a time; a scale that is finite makes no NaN.
template <class Int>
void dequantize_by(float s, int z, const Int* x, float* y, size_t n) {
  const __m512i zero = _mm512_set1_epi32(z);
  const __m512 scale = _mm512_set1_ps(s);
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 some = first_of(n - i);
    const __m512 value = _mm512_cvtepi32_ps(_mm512_sub_epi32(bytes_16(x + i, some), zero));
    _mm512_mask_storeu_ps(y + i, some, _mm512_mul_ps(value, scale));
  }
}

#else

template <class Int>
void dequantize_by(float s, int z, const Int* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, to_f32(load_bytes(x + i) - I32x16(z)) * F32x16(s));
  for (; i < n; ++i) y[i] = float(int(x[i]) - z) * s;
}

#endif

#if defined(SDX_ISA_avx512)

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kLower = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

// As it is said: with a division.
template <class Int>
[[gnu::noinline]] void divide_by(float s, int z, const float* x, Int* y, size_t n) {
  constexpr int kLow = Int(-1) < Int(0) ? -128 : 0;
  const __m512 by = _mm512_set1_ps(s), far = _mm512_set1_ps(0x1p20f);
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 some = first_of(n - i);
    __m512 q = _mm512_div_ps(_mm512_maskz_loadu_ps(some, x + i), by);
    q = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
    q = _mm512_max_ps(_mm512_min_ps(q, far), _mm512_sub_ps(_mm512_setzero_ps(), far));
    __m512i nearest = _mm512_add_epi32(_mm512_cvt_roundps_epi32(q, kNearest), _mm512_set1_epi32(z));
    nearest = _mm512_max_epi32(nearest, _mm512_set1_epi32(kLow));
    nearest = _mm512_min_epi32(nearest, _mm512_set1_epi32(kLow + 255));
    _mm_mask_storeu_epi8(y + i, some, _mm512_cvtepi32_epi8(nearest));
  }
}

// x / s without dividing: x times the rounded 1 / s, plus z, is off by less than 2^-13 where the
// result does not saturate. Half a step and that much more make rounding to the lower integer right
// unless the fraction is below 2^-12; then, as for NaN, 64 elements are divided.
template <class Int>
void quantize_by(float s, int z, const float* x, Int* y, size_t n) {
  const float size = s < 0 ? -s : s;
  if (!(size > 0x1p-100f && size < 0x1p100f)) return divide_by(s, z, x, y, n);
  const __m512 by = _mm512_set1_ps(1.0f / s), shift = _mm512_set1_ps(float(z) + 0.5f + 0x1p-13f),
               unsure = _mm512_set1_ps(0x1p-12f);
  // Beyond these everything saturates; their fractions are no integer's neighbours.
  const __m512 most = _mm512_set1_ps(1000.25f), least = _mm512_set1_ps(-1000.75f);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    __m512i v[4];
    __mmask16 bad = 0;
    for (int k = 0; k < 4; ++k) {
      __m512 q = _mm512_fmadd_ps(_mm512_loadu_ps(x + i + 16 * k), by, shift);
      q = _mm512_max_ps(least, _mm512_min_ps(most, q));  // NaN, the second operand, stays
      bad = _kor_mask16(bad, _mm512_cmp_ps_mask(_mm512_reduce_ps(q, kLower), unsure, _CMP_NGE_UQ));
      v[k] = _mm512_cvt_roundps_epi32(q, kLower);
    }
    if (__builtin_expect(bad != 0, 0)) {
      divide_by(s, z, x + i, y + i, 64);
      continue;
    }
    const __m512i low = _mm512_packs_epi32(v[0], v[1]), high = _mm512_packs_epi32(v[2], v[3]);
    const __m512i bytes =
        Int(-1) < Int(0) ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    _mm512_storeu_si512(y + i, _mm512_maskz_permutexvar_epi32(0xffff, order, bytes));
  }
  if (i < n) divide_by(s, z, x + i, y + i, n - i);
}

#else

// As it is said: with a division.
template <class Int>
[[gnu::noinline]] void divide_by(float s, int z, const float* x, Int* y, size_t n) {
  constexpr float kFar = 0x1p20f;  // beyond it everything saturates
  const SaturatedBytes bytes(z, Int(-1) < Int(0));
  const F32x16 by = s;
  const auto nearest = [&](F32x16 v) __attribute__((always_inline)) {
    F32x16 q = v / by;
    q = select(q == q, q, F32x16(0.0f));
    return nearest_i32(min_raw(max_raw(q, F32x16(-kFar)), F32x16(kFar)));
  };
  auto* to = reinterpret_cast<uint8_t*>(y);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) bytes.store(to + i, nearest(load(x + i)));
  if (i < n) bytes.store_n(to + i, nearest(load_n(x + i, n - i)), n - i);
}

// x / s without dividing: x times the rounded 1 / s, plus z, is off by less than 2^-12 where the
// result does not saturate. Half a step and that much more make rounding to the lower integer right
// unless the fraction is below 2^-11; then, as for NaN, 64 elements are divided.
template <class Int>
void quantize_by(float s, int z, const float* x, Int* y, size_t n) {
  constexpr float kLow = Int(-1) < Int(0) ? -128 : 0;
  const float size = s < 0 ? -s : s;
  if (!(size > 0x1p-100f && size < 0x1p100f)) return divide_by(s, z, x, y, n);
  const F32x16 by = 1.0f / s, shift = float(z) + 0.5f + 0x1p-12f, unsure = 0x1p-11f;
  // Beyond these everything saturates; their fractions are no integer's neighbours.
  const F32x16 least = kLow + 0.5f, most = kLow + 255.5f;
  constexpr size_t kBlock = 64;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    M16 sure = least < most;
    uint8_t bytes[kBlock];
    for (size_t k = 0; k < kBlock; k += 16) {
      // NaN, the second operand, stays.
      const F32x16 q = max_raw(least, min_raw(most, load(x + i + k) * by + shift));
      const F32x16 lower = floor(q);
      sure = sure & (q - lower >= unsure);
      store_bytes(bytes + k, to_i32(lower));
    }
    if (__builtin_expect(all(sure), 1)) {
      std::memcpy(y + i, bytes, kBlock);
    } else {
      divide_by(s, z, x + i, y + i, kBlock);
    }
  }
  if (i < n) divide_by(s, z, x + i, y + i, n - i);
}

#endif

#if defined(SDX_ISA_avx512)

// As quantize_by, for sums that adds_bytes() has found to be no NaN and not far from y's range.
template <class Int>
void add(const AddBytes& t, const Int* a, const Int* b, Int* y, size_t n) {
  constexpr bool kSigned = Int(-1) < Int(0);
  const __m512 scale_a = _mm512_set1_ps(t.scale[0]), scale_b = _mm512_set1_ps(t.scale[1]),
               scale = _mm512_set1_ps(t.scale[2]), by = _mm512_set1_ps(1.0f / t.scale[2]),
               half = _mm512_set1_ps(0.5f - 0x1p-11f);
  const __m512i zero_a = _mm512_set1_epi32(t.zero[0]), zero_b = _mm512_set1_epi32(t.zero[1]),
                zero = _mm512_set1_epi32(t.zero[2]), none = _mm512_setzero_si512();
  const __m512 low = _mm512_set1_ps(t.relu ? 0.0f : -__builtin_inff());
  const auto value =
      [](__m512i bytes, __m512i zero_point, __m512 by_scale) __attribute__((always_inline)) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(bytes, zero_point)), by_scale);
  };
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 some = first_of(n - i);
    const __m512 sum = _mm512_max_ps(_mm512_add_ps(value(bytes_16(a + i, some), zero_a, scale_a),
                                                   value(bytes_16(b + i, some), zero_b, scale_b)),
                                     low);
    const __m512 q = _mm512_mul_ps(sum, by);
    __m512i nearest = _mm512_cvt_roundps_epi32(q, kNearest);
    const __m512 rest = _mm512_abs_ps(_mm512_sub_ps(q, _mm512_cvtepi32_ps(nearest)));
    if (__builtin_expect(_mm512_cmp_ps_mask(rest, half, _CMP_GT_OQ) != 0, 0))
      nearest = _mm512_cvt_roundps_epi32(_mm512_div_ps(sum, scale), kNearest);
    nearest = _mm512_add_epi32(nearest, zero);
    if constexpr (kSigned) {
      _mm512_mask_cvtsepi32_storeu_epi8(y + i, some, nearest);
    } else {
      _mm512_mask_cvtusepi32_storeu_epi8(y + i, some, _mm512_max_epi32(nearest, none));
    }
  }
}

#else

// As quantize_by, for sums that adds_bytes() has found to be no NaN and not far from y's range.
template <class Int>
struct AddSixteen {
  I32x16 zero_a, zero_b;
  F32x16 scale_a, scale_b, scale, by, low;
  SaturatedBytes bytes;
  SDX_INLINE explicit AddSixteen(const AddBytes& t)
      : zero_a(t.zero[0]),
        zero_b(t.zero[1]),
        scale_a(t.scale[0]),
        scale_b(t.scale[1]),
        scale(t.scale[2]),
        by(1.0f / t.scale[2]),
        low(t.relu ? 0.0f : -__builtin_inff()),
        bytes(t.zero[2], Int(-1) < Int(0)) {}

  // What is still to be saturated.
  SDX_INLINE I32x16 of(I32x16 a, I32x16 b) const {
    const F32x16 sum = max_raw(to_f32(a - zero_a) * scale_a + to_f32(b - zero_b) * scale_b, low);
    const F32x16 q = sum * by, nearest = round_even(q);
    if (__builtin_expect(any(lanes::abs(q - nearest) > F32x16(0.5f - 0x1p-11f)), 0))
      return to_i32(round_even(sum / scale));
    return to_i32(nearest);
  }
};

template <class Int>
void add(const AddBytes& t, const Int* a, const Int* b, Int* y, size_t n) {
  const AddSixteen<Int> sums(t);
  auto* to = reinterpret_cast<uint8_t*>(y);
  size_t i = 0;
  for (; i + 16 <= n; i += 16)
    sums.bytes.store(to + i, sums.of(load_bytes(a + i), load_bytes(b + i)));
  if (i < n) {
    sums.bytes.store_n(to + i, sums.of(load_bytes_n(a + i, n - i), load_bytes_n(b + i, n - i)),
                       n - i);
  }
}

#endif

template <class Int>
void quantize(const float* x, Int* y, size_t n, const float* scale, const Int* zero, size_t step) {
  if (step == 0) {
    quantize_by(*scale, zero != nullptr ? *zero : 0, x, y, n);
  } else if (zero != nullptr) {
    for (size_t i = 0; i < n; ++i) y[i] = saturated<Int>(x[i] / scale[i], zero[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = saturated<Int>(x[i] / scale[i], 0);
  }
}

template <class Int>
void dequantize(const Int* x, float* y, size_t n, const float* scale, const Int* zero,
                size_t step) {
  if (step == 0) {
    const float s = *scale;
    const int z = zero != nullptr ? *zero : 0;
    if (s - s == 0) return dequantize_by(s, z, x, y, n);
    for (size_t i = 0; i < n; ++i) y[i] = canonical(float(int(x[i]) - z) * s);
  } else if (zero != nullptr) {
    for (size_t i = 0; i < n; ++i) y[i] = canonical(float(int(x[i]) - int(zero[i])) * scale[i]);
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = canonical(float(int(x[i])) * scale[i]);
  }
}

// `flip` is 8 for signed elements, else 0: (n ^ 8) - 8 extends the sign.
int nibble(const uint8_t* x, size_t i, int flip) {
  return ((x[i / 2] >> (i % 2 * 4) & 15) ^ flip) - flip;
}

// The 16 results that one scale and zero point can have.
void table(float scale, int zero, int flip, float* out) {
  for (int i = 0; i < 16; ++i) out[i] = canonical(float((i ^ flip) - flip - zero) * scale);
}

void narrow(const float* x, uint16_t* y) {
#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
  for (int i = 0; i < 16; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
  }
#else
  narrow_row(x, DType::f16, 16, y);
#endif
}

}  // namespace

void quantize_f32_8(const float* x, uint8_t* y, size_t n, const float* scale, const uint8_t* zero,
                    size_t step, bool is_signed) {
  if (is_signed) {
    quantize(x, reinterpret_cast<int8_t*>(y), n, scale, reinterpret_cast<const int8_t*>(zero),
             step);
  } else {
    quantize(x, y, n, scale, zero, step);
  }
}

void dequantize_8_f32(const uint8_t* x, float* y, size_t n, const float* scale, const uint8_t* zero,
                      size_t step, bool is_signed) {
  if (is_signed) {
    dequantize(reinterpret_cast<const int8_t*>(x), y, n, scale,
               reinterpret_cast<const int8_t*>(zero), step);
  } else {
    dequantize(x, y, n, scale, zero, step);
  }
}

void dequantize_32_f32(const int32_t* x, float* y, size_t n, const float* scale,
                       const int32_t* zero, size_t step) {
  const int32_t one_zero = zero != nullptr && step == 0 ? *zero : 0;
  if (step == 0 && one_zero == 0) {
    for (size_t i = 0; i < n; ++i) y[i] = canonical(float(x[i]) * *scale);
  } else if (step == 0) {
    for (size_t i = 0; i < n; ++i)
      y[i] = canonical(float(double(x[i]) - double(one_zero)) * *scale);
  } else if (zero == nullptr) {
    for (size_t i = 0; i < n; ++i) y[i] = canonical(float(x[i]) * scale[i]);
  } else {
    for (size_t i = 0; i < n; ++i)
      y[i] = canonical(float(double(x[i]) - double(zero[i])) * scale[i]);
  }
}

void dequantize_4_f32(const uint8_t* x, float* y, size_t n, const float* scale, const uint8_t* zero,
                      size_t first_zero, size_t step, bool is_signed) {
  const int flip = is_signed ? 8 : 0;
  if (step != 0) {
    for (size_t i = 0; i < n; ++i) {
      const int z = zero != nullptr ? nibble(zero, first_zero + i, flip) : 0;
      y[i] = canonical(float(nibble(x, i, flip) - z) * scale[i]);
    }
    return;
  }
  const int z = zero != nullptr ? nibble(zero, first_zero, flip) : 0;
  size_t i = 0;
#if defined(SDX_ISA_avx512)
  float values[16];
  table(*scale, z, flip, values);
  const __m512 all = _mm512_loadu_ps(values);
  for (; i + 16 <= n; i += 16) {
    // Eight bytes, each twice; the odd copies moved down by four bits.
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + i / 2));
    const __m512i wide =
        _mm512_maskz_cvtepu8_epi32(0xffff, _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4)));
    _mm512_storeu_ps(y + i, _mm512_maskz_permutexvar_ps(0xffff, wide, all));
  }
#endif
  const float s = *scale;
  for (; i + 2 <= n; i += 2) {
    const int low = ((x[i / 2] & 15) ^ flip) - flip, high = ((x[i / 2] >> 4) ^ flip) - flip;
    y[i] = canonical(float(low - z) * s);
    y[i + 1] = canonical(float(high - z) * s);
  }
  if (i < n) y[i] = canonical(float(nibble(x, i, flip) - z) * s);
}

void dequantize_4_f16(const uint8_t* x, uint16_t* y, size_t n, const uint16_t* scale,
                      const uint8_t* zero, size_t first_zero, size_t step, bool is_signed) {
  const int flip = is_signed ? 8 : 0;
  if (step != 0) {
    for (size_t i = 0; i < n; ++i) {
      const int z = zero != nullptr ? nibble(zero, first_zero + i, flip) : 0;
      y[i] =
          narrow_one(float(nibble(x, i, flip) - z) * widen_one(scale[i], DType::f16), DType::f16);
    }
    return;
  }
  const int z = zero != nullptr ? nibble(zero, first_zero, flip) : 0;
  float values[16];
  uint16_t halves[16];
  table(widen_one(*scale, DType::f16), z, flip, values);
  narrow(values, halves);
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    y[i] = halves[x[i / 2] & 15];
    y[i + 1] = halves[x[i / 2] >> 4];
  }
  if (i < n) y[i] = halves[x[i / 2] & 15];
}

void requantize_32_8(const int32_t* c, uint8_t* y, size_t n, const float* ratio, size_t step,
                     int32_t zero, bool is_signed) {
  if (is_signed) {
    requantize(c, reinterpret_cast<int8_t*>(y), n, ratio, step, zero);
  } else {
    requantize(c, y, n, ratio, step, zero);
  }
}

void add_bytes(const AddBytes& t, const uint8_t* a, const uint8_t* b, uint8_t* y, size_t n) {
  if (t.is_signed) {
    add(t, reinterpret_cast<const int8_t*>(a), reinterpret_cast<const int8_t*>(b),
        reinterpret_cast<int8_t*>(y), n);
  } else {
    add(t, a, b, y, n);
  }
}

void range_f32(const float* x, size_t n, float* least, float* most) {
  size_t i = 0;
  bool nan = false;
#if defined(SDX_ISA_avx512)
  // x < least ? x : least is what the instruction does, for NaN and signed zeros too.
  __m512 low[4], high[4];
  __mmask16 unordered = 0;
  for (int k = 0; k < 4; ++k) {
    low[k] = _mm512_set1_ps(*least);
    high[k] = _mm512_set1_ps(*most);
  }
  for (; i + 64 <= n; i += 64) {
    __m512 v[4];
    for (int k = 0; k < 4; ++k) {
      v[k] = _mm512_loadu_ps(x + i + 16 * k);
      low[k] = _mm512_min_ps(v[k], low[k]);
      high[k] = _mm512_max_ps(v[k], high[k]);
    }
    unordered = _kor_mask16(unordered, _kor_mask16(_mm512_cmp_ps_mask(v[0], v[1], _CMP_UNORD_Q),
                                                   _mm512_cmp_ps_mask(v[2], v[3], _CMP_UNORD_Q)));
  }
  nan = unordered != 0;
  float lows[64], highs[64];
  for (int k = 0; k < 4; ++k) {
    _mm512_storeu_ps(lows + 16 * k, low[k]);
    _mm512_storeu_ps(highs + 16 * k, high[k]);
  }
  for (int k = 0; k < 64; ++k) {
    *least = lows[k] < *least ? lows[k] : *least;
    *most = highs[k] > *most ? highs[k] : *most;
  }
#else
  constexpr size_t kWide = 32;
  float low[kWide], high[kWide];
  int32_t unordered[kWide] = {};
  for (size_t j = 0; j < kWide; ++j) {
    low[j] = *least;
    high[j] = *most;
  }
  for (; i + kWide <= n; i += kWide) {
    for (size_t j = 0; j < kWide; ++j) {
      const float v = x[i + j];
      low[j] = v < low[j] ? v : low[j];
      high[j] = v > high[j] ? v : high[j];
      unordered[j] |= v != v;
    }
  }
  for (size_t j = 0; j < kWide; ++j) {
    *least = low[j] < *least ? low[j] : *least;
    *most = high[j] > *most ? high[j] : *most;
    nan |= unordered[j] != 0;
  }
#endif
  for (; i < n; ++i) {
    *least = x[i] < *least ? x[i] : *least;
    *most = x[i] > *most ? x[i] : *most;
    nan |= x[i] != x[i];
  }
  if (nan) *least = *most = __builtin_nanf("");
}

}  // namespace sdx::SDX_ISA
