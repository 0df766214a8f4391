#include "kernel/conv/int8_depthwise/conv_int8_depthwise.h"

#include <cstring>

#include "kernel/gemm_int8/saturate.h"
#include "kernel/gemm_int8/vnni.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

// Sums of up to a chunk's channels, in their own order.
void any_chunk(const Int8DepthwisePixel& b, size_t first, size_t n) {
  alignas(64) uint32_t sum[kDepthwiseChunk];
  std::memcpy(sum, b.add + first, sizeof sum);
  const int8_t* w = b.rows + first * b.count;
  const auto take = [&](const uint8_t* x, size_t channels) __attribute__((always_inline)) {
    for (size_t j = 0; j < channels; ++j) sum[j] += uint32_t(int32_t(x[j]) * int32_t(w[j]));
  };
  for (size_t tap = 0; tap < b.count; ++tap, w += kDepthwiseChunk) {
    const uint8_t* x = b.taps[tap] + first;
    n == kDepthwiseChunk ? take(x, kDepthwiseChunk) : take(x, n);
  }
  for (size_t j = 0; j < n; ++j) {
    b.y[first + j] =
        saturated(float(int32_t(sum[j])) * b.ratio[first + j], b.zero, b.y_signed ? -128 : 0);
  }
}

#if defined(SDX_ISA_avx512)

// Four taps of 64 channels as 64 quads, in turned order.
struct Quads {
  __m512i of[4];
  [[gnu::always_inline]] Quads(const uint8_t* const* taps, size_t first, __mmask64 some) {
    __m512i x[4];
    repeat<4>([&](int t) __attribute__((always_inline)) {
      x[t] = _mm512_maskz_loadu_epi8(some, taps[t] + first);
    });
    const __m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
    const __m512i low2 = _mm512_unpacklo_epi8(x[2], x[3]), high2 = _mm512_unpackhi_epi8(x[2], x[3]);
    of[0] = _mm512_unpacklo_epi16(low, low2);
    of[1] = _mm512_unpackhi_epi16(low, low2);
    of[2] = _mm512_unpacklo_epi16(high, high2);
    of[3] = _mm512_unpackhi_epi16(high, high2);
  }
};

// 64 channels, of which `some` are there. The convolution is tame.
void vnni_chunk(const Int8DepthwisePixel& b, size_t first, __mmask64 some) {
  constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  __m512i sum[4], i[4];
  repeat<4>([&](int v) __attribute__((always_inline)) {
    sum[v] = _mm512_loadu_si512(b.add_turned + first + 16 * v);
  });
  const int8_t* w = b.quads + 4 * first * b.steps;
  for (size_t step = 0; step < b.steps; ++step, w += 4 * kDepthwiseChunk) {
    const Quads quads(b.taps + 4 * step, first, some);
    repeat<4>([&](int v) __attribute__((always_inline)) {
      sum[v] = dot_quads(sum[v], quads.of[v], _mm512_loadu_si512(w + 64 * v));
    });
  }
  repeat<4>([&](int v) __attribute__((always_inline)) {
    i[v] = _mm512_cvt_roundps_epi32(
        _mm512_mul_ps(_mm512_cvtepi32_ps(sum[v]), _mm512_loadu_ps(b.ratio_turned + first + 16 * v)),
        kToNearest);
  });
  // Packing saturates; signed bytes are made as unsigned ones, 128 above.
  const __m512i zero = _mm512_set1_epi16(int16_t(b.zero + (b.y_signed ? 128 : 0)));
  const __m512i flip = _mm512_set1_epi8(b.y_signed ? char(0x80) : char(0));
  const __m512i bytes =
      _mm512_packus_epi16(_mm512_adds_epi16(_mm512_packs_epi32(i[0], i[1]), zero),
                          _mm512_adds_epi16(_mm512_packs_epi32(i[2], i[3]), zero));
  _mm512_mask_storeu_epi8(b.y + first, some, _mm512_xor_si512(bytes, flip));
}

#endif

#if defined(SDX_ISA_avx2) || defined(SDX_ISA_avx512)

// Up to sixteen bytes; the others are 0.
[[gnu::always_inline]] inline __m128i load_some(const uint8_t* x, size_t n) {
  if (n >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  if (n == 8) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
  uint8_t bytes[16] = {};
  for (size_t i = 0; i < n; ++i) bytes[i] = x[i];
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// Eight numbers of sixteen in turned order, of which this is half `h`.
template <int h>
[[gnu::always_inline]] inline __m256i turned_half(const void* sixteen) {
  const auto* four = static_cast<const __m128i*>(sixteen);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(four + h)),
                                 _mm_loadu_si128(four + 2 + h), 1);
}

// Sums of sixteen channels as integers to which the zero point is still to be added.
template <bool kTame>
[[gnu::always_inline]] inline __m256i steps_of(__m256i sum, __m256i ratio) {
  __m256 q = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_castsi256_ps(ratio));
  if constexpr (!kTame) {
    q = _mm256_and_ps(q, _mm256_cmp_ps(q, q, _CMP_ORD_Q));
    q = _mm256_max_ps(_mm256_min_ps(q, _mm256_set1_ps(kFar)), _mm256_set1_ps(-kFar));
  }
  return _mm256_cvtps_epi32(q);
}

// 16 * Sixteens channels, of the last sixteen of which `n` are there.
template <bool kTame, int Sixteens>
void pairs_chunk(const Int8DepthwisePixel& b, size_t first, size_t n) {
  __m256i sum[Sixteens][2];
  repeat<Sixteens>([&](int s) __attribute__((always_inline)) {
    sum[s][0] = turned_half<0>(b.add + first + 16 * s);
    sum[s][1] = turned_half<1>(b.add + first + 16 * s);
  });
  const size_t step = 2 * b.steps * 2 * kDepthwiseSixteen;  // words from one sixteen to the next
  const int16_t* w = b.pairs + first / kDepthwiseSixteen * step;
  for (size_t tap = 0; tap < b.count; tap += 2, w += 2 * kDepthwiseSixteen) {
    const uint8_t *x0 = b.taps[tap] + first, *x1 = b.taps[tap + 1] + first;
    repeat<Sixteens>([&](int s) __attribute__((always_inline)) {
      const size_t some = s == Sixteens - 1 ? n : 16;
      const __m256i a = _mm256_cvtepu8_epi16(load_some(x0 + 16 * s, some));
      const __m256i c = _mm256_cvtepu8_epi16(load_some(x1 + 16 * s, some));
      const auto* weights = reinterpret_cast<const __m256i*>(w + s * step);
      sum[s][0] = _mm256_add_epi32(
          sum[s][0], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, c), _mm256_loadu_si256(weights)));
      sum[s][1] = _mm256_add_epi32(sum[s][1], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, c),
                                                                _mm256_loadu_si256(weights + 1)));
    });
  }
  // Packing saturates; signed bytes are made as unsigned ones, 128 above.
  const __m256i zero = _mm256_set1_epi16(int16_t(b.zero + (b.y_signed ? 128 : 0)));
  const __m128i flip = _mm_set1_epi8(b.y_signed ? char(0x80) : char(0));
  repeat<Sixteens>([&](int s) __attribute__((always_inline)) {
    const size_t at = first + 16 * s, some = s == Sixteens - 1 ? n : 16;
    const __m256i words = _mm256_adds_epi16(
        _mm256_packs_epi32(steps_of<kTame>(sum[s][0], turned_half<0>(b.ratio + at)),
                           steps_of<kTame>(sum[s][1], turned_half<1>(b.ratio + at))),
        zero);
    const __m128i bytes = _mm_xor_si128(
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)), flip);
    if (some >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(b.y + at), bytes);
    std::memcpy(b.y + at, &bytes, some);
  });
}

template <bool kTame>
void pairs_pixel(const Int8DepthwisePixel& b) {
  size_t first = 0;
  for (; first + 32 <= b.channels; first += 32) pairs_chunk<kTame, 2>(b, first, 16);
  for (; first < b.channels; first += 16) {
    const size_t left = b.channels - first;
    pairs_chunk<kTame, 1>(b, first, left < 16 ? left : 16);
  }
}

#endif

}  // namespace

void conv_int8_depthwise_pixel(const Int8DepthwisePixel& b) {
#if defined(SDX_ISA_avx2)
  return b.tame ? pairs_pixel<true>(b) : pairs_pixel<false>(b);
#elif defined(SDX_ISA_avx512)
  if (b.unit == Int8Unit::plain) return b.tame ? pairs_pixel<true>(b) : pairs_pixel<false>(b);
#endif
  for (size_t first = 0; first < b.channels; first += kDepthwiseChunk) {
    const size_t left = b.channels - first, n = left < kDepthwiseChunk ? left : kDepthwiseChunk;
#if defined(SDX_ISA_avx512)
    if (b.tame && b.unit != Int8Unit::plain) {
      vnni_chunk(b, first, n == kDepthwiseChunk ? ~__mmask64(0) : (__mmask64(1) << n) - 1);
      continue;
    }
#endif
    any_chunk(b, first, n);
  }
}

}  // namespace sdx::SDX_ISA
