// What becomes of the sums of conv_int8_channels_last: up to 64 channels of a pixel as bytes.
#pragma once

#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"
#include "kernel/gemm_int8/saturate.h"
#include "kernel/simd/bytes.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// Where the pixels of the output begin in x, one after the other.
struct LastPixels {
  const Int8ChannelsLastBlock& b;
  size_t column;
  const uint8_t* row;
  explicit LastPixels(const Int8ChannelsLastBlock& block)
      : b(block),
        column(block.first % block.out_columns),
        row(block.x + block.first / block.out_columns * block.row_step) {}
  const uint8_t* next() {
    const uint8_t* x = row + column * b.column_step;
    if (++column == b.out_columns) {
      column = 0;
      row += b.row_step;
    }
    return x;
  }
};

// The sum of a pixel's bytes and others, step by step.
inline void add_other(const Int8ChannelsLastBlock& b, const uint8_t* bytes, size_t pixel) {
  const size_t at = pixel * b.ldy;
  add_bytes(*b.sum.steps, bytes, b.other + at, b.y + at, b.channels);
}

#if defined(SDX_ISA_avx512)

inline constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
inline constexpr int kToLower = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

// Sixteen channels, with any ratios.
[[gnu::always_inline]] inline void store_bytes(const Int8ChannelsLastBlock& b, const int32_t* sum,
                                               size_t lane, uint8_t* y) {
  const bool whole = b.channels - lane >= 16;
  const __mmask16 some = whole ? __mmask16(0xffff) : first_lanes(b.channels - lane);
  __m512 q =
      _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sum)), _mm512_loadu_ps(b.ratio + lane));
  q = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
  q = _mm512_max_ps(_mm512_min_ps(q, _mm512_set1_ps(kFar)), _mm512_set1_ps(-kFar));
  const int32_t low = b.y_signed ? -128 : 0;
  __m512i i = _mm512_add_epi32(_mm512_cvt_roundps_epi32(q, kToNearest), _mm512_set1_epi32(b.zero));
  i = _mm512_min_epi32(_mm512_max_epi32(i, _mm512_set1_epi32(low)), _mm512_set1_epi32(low + 255));
  _mm_mask_storeu_epi8(y + lane, some, _mm512_cvtepi32_epi8(i));
}

// The channels of the panel that are there.
[[gnu::always_inline]] inline __mmask64 some_channels(const Int8ChannelsLastBlock& b) {
  return b.channels == kChannelsLastPanel ? ~__mmask64(0) : (__mmask64(1) << b.channels) - 1;
}

// Words of two vectors each: each quarter of a register has four channels of both.
[[gnu::always_inline]] inline __m512i bytes_of_words(__m512i low, __m512i high) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_maskz_permutexvar_epi32(0xffff, order, _mm512_packus_epi16(low, high));
}

// 64 sums of a tame convolution as bytes. Packing saturates; signed bytes are made as unsigned
// ones, 128 above.
struct LastBytes {
  __m512 ratio[4];
  __m512i zero, flip;
  [[gnu::always_inline]] explicit LastBytes(const Int8ChannelsLastBlock& b)
      : zero(_mm512_set1_epi16(int16_t(b.zero + (b.y_signed ? 128 : 0)))),
        flip(_mm512_set1_epi8(b.y_signed ? char(0x80) : char(0))) {
    repeat<4>([&](int v)
                  __attribute__((always_inline)) { ratio[v] = _mm512_loadu_ps(b.ratio + 16 * v); });
  }

  [[gnu::always_inline]] __m512i of(const __m512i* sum) const {
    __m512i i[4];
    repeat<4>([&](int v) __attribute__((always_inline)) {
      i[v] =
          _mm512_cvt_roundps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[v]), ratio[v]), kToNearest);
    });
    return _mm512_xor_si512(bytes_of_words(_mm512_adds_epi16(_mm512_packs_epi32(i[0], i[1]), zero),
                                           _mm512_adds_epi16(_mm512_packs_epi32(i[2], i[3]), zero)),
                            flip);
  }
};

// The same, and their sums with other unsigned bytes by ChannelsLastSum; false if one of them is
// unsure.
struct LastBytesAndOther {
  __m512 ratio[4], low, high, a, b, c, unsure;
  __m512i least, zero;
  [[gnu::always_inline]] explicit LastBytesAndOther(const Int8ChannelsLastBlock& t)
      : low(_mm512_set1_ps(float(-t.zero))),
        high(_mm512_set1_ps(float(255 - t.zero))),
        a(_mm512_set1_ps(t.sum.a)),
        b(_mm512_set1_ps(t.sum.b)),
        c(_mm512_set1_ps(t.sum.c)),
        unsure(_mm512_set1_ps(t.sum.unsure)),
        least(_mm512_set1_epi16(t.sum.least)),
        zero(_mm512_set1_epi16(t.sum.zero)) {
    repeat<4>([&](int v)
                  __attribute__((always_inline)) { ratio[v] = _mm512_loadu_ps(t.ratio + 16 * v); });
  }

  [[gnu::always_inline]] bool store(const __m512i* sum, const uint8_t* other, uint8_t* y) const {
    __m512i i[4];
    __mmask16 bad[4];
    repeat<4>([&](int v) __attribute__((always_inline)) {
      __m512 q = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[v]), ratio[v]);
      q = _mm512_roundscale_ps(_mm512_min_ps(_mm512_max_ps(q, low), high), kToNearest);
      const __m512 o = _mm512_cvtepi32_ps(
          _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(other + 16 * v))));
      q = _mm512_fmadd_ps(q, a, _mm512_fmadd_ps(o, b, c));
      bad[v] = _mm512_cmp_ps_mask(_mm512_reduce_ps(q, kToLower), unsure, _CMP_LT_OQ);
      i[v] = _mm512_cvt_roundps_epi32(q, kToLower);
    });
    const auto words = [&](__m512i p, __m512i q) __attribute__((always_inline)) {
      return _mm512_adds_epi16(_mm512_max_epi16(_mm512_packs_epi32(p, q), least), zero);
    };
    const __mmask16 any = _kor_mask16(_kor_mask16(bad[0], bad[1]), _kor_mask16(bad[2], bad[3]));
    if (__builtin_expect(_cvtmask16_u32(any) != 0, 0)) return false;
    _mm512_storeu_si512(y, bytes_of_words(words(i[0], i[1]), words(i[2], i[3])));
    return true;
  }
};

// One pixel's sums as bytes, step by step.
[[gnu::noinline]] inline void end_pixel(const Int8ChannelsLastBlock& b, const int32_t* sum,
                                        size_t pixel) {
  uint8_t own[kChannelsLastPanel];
  uint8_t* y = b.other == nullptr ? b.y + pixel * b.ldy : own;
  for (size_t lane = 0; lane < b.channels; lane += 16) store_bytes(b, sum + lane, lane, y);
  if (b.other != nullptr) add_other(b, own, pixel);
}

// Sums of pixels, kChannelsLastPanel apart, to which `add` is still to be added.
inline void end_sums(const Int8ChannelsLastBlock& b, int32_t* sum, size_t pixel, size_t pixels) {
  // A sum with others is quick on whole panels alone; of sums that belong to no channel, nothing is
  // stored.
  const bool quick = b.tame && (b.other == nullptr || b.channels == kChannelsLastPanel);
  const __mmask64 there = some_channels(b);
  const LastBytes bytes(b);
  const LastBytesAndOther both(b);
  for (const size_t end = pixel + pixels; pixel < end; ++pixel, sum += kChannelsLastPanel) {
    const size_t at = pixel * b.ldy;
    __m512i v[4];
    repeat<4>([&](int i) __attribute__((always_inline)) {
      v[i] = _mm512_add_epi32(_mm512_loadu_si512(sum + 16 * i), _mm512_loadu_si512(b.add + 16 * i));
    });
    if (quick && b.other == nullptr) {
      _mm512_mask_storeu_epi8(b.y + at, there, bytes.of(v));
    } else if (!(quick && b.sum.near && both.store(v, b.other + at, b.y + at))) {
      repeat<4>([&](int i)
                    __attribute__((always_inline)) { _mm512_storeu_si512(sum + 16 * i, v[i]); });
      end_pixel(b, sum, pixel);
    }
  }
}

#else

// Sums of pixels as bytes. What it needs of the block is its own, for bytes that are stored might
// else be part of the block.
struct LastEnds {
  const int32_t* add;
  const float* ratio;
  size_t channels;
  SaturatedBytes bytes;
  SDX_INLINE explicit LastEnds(const Int8ChannelsLastBlock& b)
      : add(b.add), ratio(b.ratio), channels(b.channels), bytes(b.zero, b.y_signed) {}

  // Sixteen sums in steps of y, right before they are made whole.
  template <bool kTame>
  SDX_INLINE F32x16 steps(const int32_t* sum, size_t lane) const {
    F32x16 q = to_f32(I32x16::load(sum + lane) + I32x16::load(add + lane)) * load(ratio + lane);
    if constexpr (!kTame) {
      q = select(q == q, q, F32x16(0.0f));
      q = min_raw(max_raw(q, F32x16(-kFar)), F32x16(kFar));
    }
    return q;
  }

  template <bool kTame>
  SDX_INLINE void store_pixel(const int32_t* sum, uint8_t* y) const {
    size_t lane = 0;
    for (; lane + 16 <= channels; lane += 16)
      bytes.store(y + lane, nearest_i32(steps<kTame>(sum, lane)));
    if (lane < channels)
      bytes.store_n(y + lane, nearest_i32(steps<kTame>(sum, lane)), channels - lane);
  }
};

// The same, and their sums with other bytes by ChannelsLastSum, of whole vectors of a tame
// convolution.
struct LastEndsAndOther {
  LastEnds ends;
  F32x16 own_low, own_high, a, b, c, unsure, least;
  SaturatedBytes bytes;
  SDX_INLINE explicit LastEndsAndOther(const Int8ChannelsLastBlock& t)
      : ends(t),
        own_low(float(-t.zero)),
        own_high(float(255 - t.zero)),
        a(t.sum.a),
        b(t.sum.b),
        c(t.sum.c),
        unsure(t.sum.unsure),
        least(float(t.sum.least)),
        bytes(t.sum.zero, false) {}

  // False if one of them is unsure.
  SDX_INLINE bool store_pixel(const int32_t* sum, const uint8_t* other, uint8_t* y) const {
    M16 bad = unsure < F32x16(0.0f);
    for (size_t lane = 0; lane < ends.channels; lane += 16) {
      const F32x16 steps = ends.steps<true>(sum, lane);
      const F32x16 own = round_even(min_raw(max_raw(steps, own_low), own_high));
      const F32x16 q = fma(own, a, fma(to_f32(load_bytes(other + lane)), b, c));
      const F32x16 whole = floor(q);
      bad = bad | (q - whole < unsure);
      bytes.store(y + lane, to_i32(max_raw(whole, least)));
    }
    return !any(bad);
  }
};

// Sums of pixels, kChannelsLastPanel apart, to which `add` is still to be added.
inline void end_sums(const Int8ChannelsLastBlock& b, const int32_t* sum, size_t pixel,
                     size_t pixels) {
  const size_t end = pixel + pixels;
  const LastEnds ends(b);
  if (b.other == nullptr && b.tame) {
    for (; pixel < end; ++pixel, sum += kChannelsLastPanel)
      ends.store_pixel<true>(sum, b.y + pixel * b.ldy);
    return;
  }
#if defined(SDX_SOFT_FMA)
  const bool near = false;  // each fma there costs more than the steps
#else
  const bool near = b.other != nullptr && b.tame && b.sum.near && b.channels % 16 == 0;
#endif
  const LastEndsAndOther both(b);
  for (; pixel < end; ++pixel, sum += kChannelsLastPanel) {
    uint8_t own[kChannelsLastPanel];
    const size_t at = pixel * b.ldy;
    if (near && both.store_pixel(sum, b.other + at, b.y + at)) continue;
    uint8_t* y = b.other == nullptr ? b.y + at : own;
    b.tame ? ends.store_pixel<true>(sum, y) : ends.store_pixel<false>(sum, y);
    if (b.other != nullptr) add_other(b, own, pixel);
  }
}

#endif

}  // namespace sdx::SDX_ISA
