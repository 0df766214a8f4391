// The operands of integer products in the order in which tiles read them, with the sums that zero
// points need.
#include "kernel/gemm/tile.h"
#include "kernel/gemm_int8/block.h"
#include "kernel/gemm_int8/vnni.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

#if defined(SDX_ISA_avx512)

// Sixteen columns of `depth` rows, up to four, interleaved: out[4 * column + row]; the columns'
// sums grow by them.
using Sums = __m512i;
[[gnu::always_inline]] inline void pack_quad(const uint8_t* rows, size_t step, size_t depth,
                                             uint8_t flip, uint8_t* out, Sums& sum) {
  const auto row = [&](size_t r) __attribute__((always_inline)) {
    return r < depth ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + r * step))
                     : _mm_set1_epi8(char(flip));
  };
  __m512i v = _mm512_zextsi128_si512(row(0));
  v = _mm512_inserti32x4(v, row(1), 1);
  v = _mm512_inserti32x4(v, row(2), 2);
  v = _mm512_inserti32x4(v, row(3), 3);
  // Double words of the same columns come together, then their bytes change places.
  const __m512i words = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  v = _mm512_shuffle_epi8(_mm512_maskz_permutexvar_epi32(0xffff, words, v), bytes);
  v = _mm512_xor_si512(v, _mm512_set1_epi8(char(flip)));
  _mm512_storeu_si512(out, v);
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), v);
  const __m512i quads = _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
  sum = _mm512_add_epi32(sum, quads);
}

#else

typedef uint8_t Bytes __attribute__((vector_size(16)));

// The bytes of two vectors dealt between each other, singly or in pairs: the first halves and the
// second ones.
inline Bytes deal_low(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline Bytes deal_high(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
inline Bytes deal_low_pairs(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
}
inline Bytes deal_high_pairs(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30,
                                 31);
}

struct Sums {
  int32_t column[16];
};

inline void pack_quad(const uint8_t* rows, size_t step, size_t depth, uint8_t flip, uint8_t* out,
                      Sums& sum) {
  Bytes r[4] = {};
  for (size_t i = 0; i < depth; ++i) {
    std::memcpy(&r[i], rows + i * step, 16);
    r[i] ^= flip;
    for (size_t j = 0; j < 16; ++j) sum.column[j] += int8_t(rows[i * step + j] ^ flip);
  }
  const Bytes low01 = deal_low(r[0], r[1]), high01 = deal_high(r[0], r[1]);
  const Bytes low23 = deal_low(r[2], r[3]), high23 = deal_high(r[2], r[3]);
  const Bytes quads[4] = {deal_low_pairs(low01, low23), deal_high_pairs(low01, low23),
                          deal_low_pairs(high01, high23), deal_high_pairs(high01, high23)};
  std::memcpy(out, quads, sizeof quads);
}

#endif

}  // namespace

void int8_pack_steps(const uint8_t* rows, size_t step, bool is_signed, size_t k, size_t width,
                     int32_t* sums, uint8_t* out) {
  const uint8_t flip = is_signed ? 0 : 0x80;
  // Stretches that the first level of cache holds, for a row is read once for each 16 columns.
  constexpr size_t kStretch = 128;
  for (size_t first = 0; first < k; first += kStretch) {
    const size_t end = least(k, first + kStretch), whole = end / 4 * 4;
    for (size_t j = 0; j < width; j += 16) {
      Sums sum;
      std::memcpy(&sum, sums + j, sizeof sum);
      const uint8_t* in = rows + first * step + j;
      uint8_t* to = out + first * width + 4 * j;
      size_t i = first;
      for (; i < whole; i += 4, in += 4 * step, to += 4 * width)
        pack_quad(in, step, 4, flip, to, sum);
      if (i < end) pack_quad(in, step, end - i, flip, to, sum);
      std::memcpy(sums + j, &sum, sizeof sum);
    }
  }
}

void int8_pack_panel(const void* b, bool b_signed, size_t b_k, size_t b_col, size_t k, size_t cols,
                     int32_t* panel) {
  const size_t width = panel_width(cols);
  const uint8_t* in = static_cast<const uint8_t*>(b);
  const uint8_t flip = b_signed ? 0 : 0x80;
  int32_t sum[kPanel] = {};
  uint8_t* out = reinterpret_cast<uint8_t*>(panel + width);
  const bool whole = b_col == 1 && cols == kPanel;
  if (whole) int8_pack_steps(in, b_k, b_signed, k, width, sum, out);
  for (size_t i = 0; i < k && !whole; i += 4, out += 4 * width) {
    const size_t depth = least(4, k - i);
    std::memset(out, 0, 4 * width);
    for (size_t j = 0; j < cols; ++j) {
      for (size_t q = 0; q < depth; ++q) {
        const uint8_t x = uint8_t(in[(i + q) * b_k + j * b_col] ^ flip);
        out[4 * j + q] = x;
        sum[j] += int8_t(x);
      }
    }
  }
  std::memcpy(panel, sum, width * sizeof(int32_t));
  int8_end_panel(k, cols, panel);
}

Int8Most int8_most(const int8_t* weights, size_t quads, size_t columns) {
  const size_t row = 4 * columns;
  int16_t two = 0, four = 0;
  for (size_t q = 0; q < quads; q += 2) {
    const int8_t *a = weights + q * row, *b = q + 1 < quads ? a + row : nullptr;
    for (size_t i = 0; i < row; i += 2) {
      // What neighbours of one sign add up to.
      const auto up = [](int8_t x) { return int16_t(x > 0 ? x : 0); };
      const auto down = [](int8_t x) { return int16_t(x < 0 ? -x : 0); };
      const auto most = [](int16_t x, int16_t y) { return x > y ? x : y; };
      auto above = int16_t(up(a[i]) + up(a[i + 1])), below = int16_t(down(a[i]) + down(a[i + 1]));
      two = most(two, most(above, below));
      if (b != nullptr) {
        const auto above2 = int16_t(up(b[i]) + up(b[i + 1])),
                   below2 = int16_t(down(b[i]) + down(b[i + 1]));
        two = most(two, most(above2, below2));
        above = int16_t(above + above2);
        below = int16_t(below + below2);
      }
      four = most(four, most(above, below));
    }
  }
  return {two, four};
}

void int8_end_panel(size_t k, size_t cols, int32_t* panel) {
  const size_t width = panel_width(cols);
  int32_t* end = panel + int8_most_at(k, cols);
  std::memset(end, 0, kLine * sizeof(int32_t));
  const Int8Most most =
      int8_most(reinterpret_cast<const int8_t*>(panel + width), quads_of(k), width);
  end[0] = most.two;
  end[1] = most.four;
}

void int8_pack_rows(const void* a, bool a_signed, size_t a_row, size_t a_k, size_t k, size_t rows,
                    int32_t* packed) {
  const uint8_t* in = static_cast<const uint8_t*>(a);
  const uint8_t flip = a_signed ? 0x80 : 0;
  uint8_t* out = reinterpret_cast<uint8_t*>(packed + rows);
  for (size_t r = 0; r < rows; ++r) {
    const uint8_t* p = in + r * a_row;
    uint8_t* o = out + 4 * r;
    uint32_t sum = 0;
    size_t i = 0;
    for (; i + 4 <= k && a_k == 1; i += 4, o += 4 * rows) {
      const uint8_t quad[4] = {uint8_t(p[i] ^ flip), uint8_t(p[i + 1] ^ flip),
                               uint8_t(p[i + 2] ^ flip), uint8_t(p[i + 3] ^ flip)};
      std::memcpy(o, quad, 4);
      sum += uint32_t(quad[0] + quad[1] + quad[2] + quad[3]);
    }
    for (; i < k; i += 4, o += 4 * rows) {
      for (size_t q = 0; q < 4; ++q) {
        o[q] = i + q < k ? uint8_t(p[(i + q) * a_k] ^ flip) : 0;
        sum += o[q];
      }
    }
    packed[r] = int32_t(sum);
  }
}

}  // namespace sdx::SDX_ISA
