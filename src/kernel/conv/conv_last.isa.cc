#include "kernel/conv/conv_last.h"

#include "kernel/gemm/tile.h"
#include "kernel/gemm_int8/saturate.h"
#include "kernel/gemm_int8/vnni.h"

namespace sdx::SDX_ISA {
namespace {

// As many pixels as leave registers for the weights of a panel.
constexpr int kPixels = 6;

const uint8_t* pixel_at(const ConvLastBlock& b, size_t pixel) {
  return b.x + pixel / b.out_columns * b.row_step + pixel % b.out_columns * b.column_step;
}

#if defined(SDX_ISA_avx512)

[[gnu::always_inline]] inline void store_bytes(const ConvLastBlock& b, __m512i sum, size_t lane,
                                               uint8_t* y) {
  const bool whole = b.channels - lane >= 16;
  const __mmask16 some = whole ? __mmask16(0xffff) : vec_first(b.channels - lane);
  const __m512i s = _mm512_add_epi32(sum, _mm512_loadu_si512(b.add + lane));
  __m512 q = _mm512_mul_ps(_mm512_cvtepi32_ps(s), _mm512_loadu_ps(b.ratio + lane));
  q = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
  q = _mm512_max_ps(_mm512_min_ps(q, _mm512_set1_ps(kFar)), _mm512_set1_ps(-kFar));
  const int32_t low = b.y_signed ? -128 : 0;
  __m512i i =
      _mm512_add_epi32(_mm512_cvt_roundps_epi32(q, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                       _mm512_set1_epi32(b.zero));
  i = _mm512_min_epi32(_mm512_max_epi32(i, _mm512_set1_epi32(low)), _mm512_set1_epi32(low + 255));
  _mm512_mask_cvtepi32_storeu_epi8(y + lane, some, i);
}

template <int Pixels, int Vecs>
void vnni_tile(const ConvLastBlock& b, size_t pixel) {
  __m512i acc[Pixels][Vecs];
  const uint8_t* x[Pixels];
  unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
    x[p.value] = pixel_at(b, pixel + p.value);
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      acc[p.value][v.value] = _mm512_setzero_si512();
    });
  });
  const int8_t* w = b.w;
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      const size_t run = ry * b.step_y + rx * b.step_x, end = run + 4 * b.quads;
      for (size_t at = run; at != end; at += 4, w += 64 * Vecs) {
        __m512i weights[Vecs];
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          weights[v.value] = _mm512_loadu_si512(w + 64 * v.value);
        });
        unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
          int32_t quad;
          std::memcpy(&quad, x[p.value] + at, sizeof quad);
          const __m512i four = _mm512_set1_epi32(quad);
          unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
            acc[p.value][v.value] = dot_quads(acc[p.value][v.value], four, weights[v.value]);
          });
        });
      }
    }
  }
  unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
    uint8_t* y = b.y + (pixel + p.value) * b.ldy;
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      store_bytes(b, acc[p.value][v.value], v.value * 16, y);
    });
  });
}

using TileFn = void (*)(const ConvLastBlock&, size_t);
struct LastTiles {
  TileFn fn[kPixels][4];
};
constexpr LastTiles make_tiles() {
  LastTiles table{};
  unroll<kPixels>([&](auto p) {
    unroll<4>([&](auto v) { table.fn[p.value][v.value] = &vnni_tile<p.value + 1, v.value + 1>; });
  });
  return table;
}
constexpr LastTiles kLastTiles = make_tiles();

#endif

// One pixel: lanes are output channels.
void one_pixel(const ConvLastBlock& b, size_t pixel) {
  alignas(64) uint32_t sum[kLastPanel] = {};
  const uint8_t* x = pixel_at(b, pixel);
  const int8_t* w = b.w;
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      const uint8_t* a = x + ry * b.step_y + rx * b.step_x;
      for (size_t i = 0; i < b.quads; ++i, a += 4, w += 4 * b.width) {
        for (size_t j = 0; j < b.width; ++j) {
          sum[j] += uint32_t(a[0] * w[4 * j] + a[1] * w[4 * j + 1] + a[2] * w[4 * j + 2] +
                             a[3] * w[4 * j + 3]);
        }
      }
    }
  }
  uint8_t* y = b.y + pixel * b.ldy;
  for (size_t j = 0; j < b.channels; ++j) {
    const auto s = int32_t(sum[j] + uint32_t(b.add[j]));
    y[j] = saturated(float(s) * b.ratio[j], b.zero, b.y_signed ? -128 : 0);
  }
}

}  // namespace

void conv_last_block(const ConvLastBlock& b) {
#if defined(SDX_ISA_avx512)
  if (b.vnni) {
    const size_t count = b.last - b.first, tiles = (count + kPixels - 1) / kPixels;
    for (size_t i = 0; i < tiles; ++i) {
      const size_t begin = count * i / tiles, end = count * (i + 1) / tiles;
      kLastTiles.fn[end - begin - 1][b.width / 16 - 1](b, b.first + begin);
    }
    return;
  }
#endif
  for (size_t pixel = b.first; pixel < b.last; ++pixel) one_pixel(b, pixel);
}

void max_bytes(const uint8_t* x, uint8_t* y, size_t n, bool is_signed) {
  if (is_signed) {
    const auto* a = reinterpret_cast<const int8_t*>(x);
    auto* b = reinterpret_cast<int8_t*>(y);
    for (size_t i = 0; i < n; ++i) b[i] = a[i] > b[i] ? a[i] : b[i];
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
  }
}

}  // namespace sdx::SDX_ISA
