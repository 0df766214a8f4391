// Sixteen bytes as sixteen lanes of 32-bit integers, and back.
#pragma once

#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {

// Bytes of either sign, widened.
SDX_INLINE I32x16 load_bytes(const uint8_t* p) {
#if defined(SDX_ISA_avx512)
  return (RawI32)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
#elif defined(SDX_ISA_avx2)
  return {I32((RawI32)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p))),
          I32((RawI32)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(p + 8))))};
#else
  int32_t lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = p[i];
  return I32x16::load(lanes);
#endif
}
SDX_INLINE I32x16 load_bytes(const int8_t* p) {
#if defined(SDX_ISA_avx512)
  return (RawI32)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p));
#elif defined(SDX_ISA_avx2)
  return {I32((RawI32)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p))),
          I32((RawI32)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)(p + 8))))};
#else
  int32_t lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = p[i];
  return I32x16::load(lanes);
#endif
}
// The first `count` (0 to 16) of them; the other lanes are 0, and nothing behind is read.
template <class Int>
SDX_INLINE I32x16 load_bytes_n(const Int* p, size_t count) {
  Int bytes[16] = {};
  memcpy(bytes, p, count);
  return load_bytes(bytes);
}

// The lowest eight bits of each lane.
SDX_INLINE void store_bytes(uint8_t* p, I32x16 a) {
#if defined(SDX_ISA_avx512)
  _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8((__m512i)a.v));
#elif defined(SDX_ISA_avx2)
  const __m256i low = _mm256_set1_epi32(255);
  const __m256i words =
      _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256((__m256i)a.lo.v, low),
                                                   _mm256_and_si256((__m256i)a.hi.v, low)),
                               0xd8);
  _mm_storeu_si128((__m128i*)p, _mm_packus_epi16(_mm256_castsi256_si128(words),
                                                 _mm256_extracti128_si256(words, 1)));
#else
  int32_t lanes[16];
  a.store(lanes);
  for (int i = 0; i < 16; ++i) p[i] = uint8_t(lanes[i]);
#endif
}
SDX_INLINE void store_bytes_n(uint8_t* p, I32x16 a, size_t count) {
  uint8_t bytes[16];
  store_bytes(bytes, a);
  memcpy(p, bytes, count);
}

// The nearest integer, ties to even; the value must lie within int32.
SDX_INLINE I32x16 nearest_i32(F32x16 a) {
#if defined(SDX_ISA_avx512)
  return (RawI32)_mm512_cvtps_epi32(a.v);
#elif defined(SDX_ISA_avx2)
  return {I32((RawI32)_mm256_cvtps_epi32(a.lo.v)), I32((RawI32)_mm256_cvtps_epi32(a.hi.v))};
#else
  return to_i32(round_even(a));
#endif
}

// Integers plus a zero point, saturated to bytes of either sign.
struct SaturatedBytes {
#if defined(SDX_ISA_avx2)
  // Packing saturates; signed bytes are made as unsigned ones, 128 above.
  __m256i zero;
  __m128i flip;
  SDX_INLINE SaturatedBytes(int32_t zero_point, bool is_signed)
      : zero(_mm256_set1_epi16(int16_t(zero_point + (is_signed ? 128 : 0)))),
        flip(_mm_set1_epi8(is_signed ? char(0x80) : char(0))) {}
  SDX_INLINE void store(uint8_t* p, I32x16 a) const {
    __m256i words = _mm256_packs_epi32((__m256i)a.lo.v, (__m256i)a.hi.v);
    words = _mm256_permute4x64_epi64(_mm256_adds_epi16(words, zero), 0xd8);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i*)p, _mm_xor_si128(bytes, flip));
  }
#else
  I32x16 low, high, zero;  // the bounds before the zero point is added
  SDX_INLINE SaturatedBytes(int32_t zero_point, bool is_signed)
      : low((is_signed ? -128 : 0) - zero_point),
        high((is_signed ? 127 : 255) - zero_point),
        zero(zero_point) {}
  SDX_INLINE void store(uint8_t* p, I32x16 a) const {
    a = select(a > low, a, low);
    store_bytes(p, select(a < high, a, high) + zero);
  }
#endif
  SDX_INLINE void store_n(uint8_t* p, I32x16 a, size_t count) const {
    uint8_t bytes[16];
    store(bytes, a);
    memcpy(p, bytes, count);
  }
};

}  // namespace sdx::SDX_ISA
