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
    unroll<4>([&](auto t) __attribute__((always_inline)) {
      x[t.value] = _mm512_maskz_loadu_epi8(some, taps[t.value] + first);
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
  unroll<4>([&](auto v) __attribute__((always_inline)) {
    sum[v.value] = _mm512_loadu_si512(b.add_turned + first + 16 * v.value);
  });
  const int8_t* w = b.quads + 4 * first * b.steps;
  for (size_t step = 0; step < b.steps; ++step, w += 4 * kDepthwiseChunk) {
    const Quads quads(b.taps + 4 * step, first, some);
    unroll<4>([&](auto v) __attribute__((always_inline)) {
      sum[v.value] =
          dot_quads(sum[v.value], quads.of[v.value], _mm512_loadu_si512(w + 64 * v.value));
    });
  }
  unroll<4>([&](auto v) __attribute__((always_inline)) {
    i[v.value] = _mm512_cvt_roundps_epi32(
        _mm512_mul_ps(_mm512_cvtepi32_ps(sum[v.value]),
                      _mm512_loadu_ps(b.ratio_turned + first + 16 * v.value)),
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

}  // namespace

void conv_int8_depthwise_pixel(const Int8DepthwisePixel& b) {
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
