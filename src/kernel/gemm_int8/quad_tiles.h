// Sums of products of bytes, four steps of k at a time: the tiles of each level, by the
// instructions that sum four products into a lane where there are any. Machines of x86 without them
// have ready_rows.h.
#pragma once

#include <cstring>

#include "kernel/gemm_int8/block.h"
#include "kernel/gemm_int8/neon.h"
#include "kernel/gemm_int8/vnni.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// Sums of products over quads of k: rows of A against the `width` (16 or 32) columns of a panel.
struct QuadTile {
  size_t quads, rows, width;
  const uint8_t* a;      // [quad][row][4]
  const int8_t* b;       // [quad][column][4]
  int32_t* sum;          // [row][kPanel]
  const int32_t* b_sum;  // of each column
};

#if defined(SDX_ISA_avx512)

template <int Rows, int Vecs>
void vnni_tile(const QuadTile& t) {
  __m512i acc[Rows][Vecs];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = _mm512_setzero_si512(); });
  });
  const uint8_t* a = t.a;
  const int8_t* b = t.b;
  for (size_t i = t.quads; i != 0; --i, a += 4 * Rows, b += 64 * Vecs) {
    __m512i row[Vecs];
    repeat<Vecs>([&](int v)
                     __attribute__((always_inline)) { row[v] = _mm512_loadu_si512(b + 64 * v); });
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a + 4 * r, sizeof quad);
      const __m512i x = _mm512_set1_epi32(quad);
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        acc[r][v] = dot_quads(acc[r][v], x, row[v]);
      });
    });
  }
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      _mm512_storeu_si512(t.sum + r * kPanel + v * 16, acc[r][v]);
    });
  });
}

using VnniFn = void (*)(const QuadTile&);
struct VnniTable {
  VnniFn fn[kRowBlock][2];
};
constexpr VnniTable make_vnni_table() {
  VnniTable table{};
  unroll<int(kRowBlock)>([&](auto r) {
    unroll<2>([&](auto v) { table.fn[r.value][v.value] = &vnni_tile<r.value + 1, v.value + 1>; });
  });
  return table;
}
inline constexpr VnniTable kVnniTiles = make_vnni_table();

inline void sum_products(const QuadTile& t, Int8Unit) {
  kVnniTiles.fn[t.rows - 1][t.width / 16 - 1](t);
}

#elif defined(SDX_ISA_avx2)

template <bool kVex, int Rows>
void half_tile(const QuadTile& t, size_t first_row, size_t col) {
  __m256i acc[Rows][2];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    acc[r][0] = acc[r][1] = _mm256_setzero_si256();
  });
  const uint8_t* a = t.a + 4 * first_row;
  const int8_t* b = t.b + 4 * col;
  for (size_t i = t.quads; i != 0; --i, a += 4 * t.rows, b += 4 * t.width) {
    const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32));
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a + 4 * r, sizeof quad);
      const __m256i x = _mm256_set1_epi32(quad);
      acc[r][0] = dot_quads<kVex>(acc[r][0], x, b0);
      acc[r][1] = dot_quads<kVex>(acc[r][1], x, b1);
    });
  }
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    auto* sum = reinterpret_cast<__m256i*>(t.sum + (first_row + r) * kPanel + col);
    _mm256_storeu_si256(sum, acc[r][0]);
    _mm256_storeu_si256(sum + 1, acc[r][1]);
  });
}

template <bool kVex>
void half_tiles(const QuadTile& t) {
  for (size_t col = 0; col < t.width; col += 16) {
    size_t row = 0;
    for (; row + 6 <= t.rows; row += 6) half_tile<kVex, 6>(t, row, col);
    for (; row + 3 <= t.rows; row += 3) half_tile<kVex, 3>(t, row, col);
    for (; row < t.rows; ++row) half_tile<kVex, 1>(t, row, col);
  }
}

inline void sum_products(const QuadTile& t, Int8Unit unit) {
  unit == Int8Unit::avx_vnni ? half_tiles<true>(t) : half_tiles<false>(t);
}

#elif defined(SDX_ISA_neon)

// The quads of some rows at one k: four rows to a vector.
template <class Dot, int Rows>
struct QuadRows {
  static constexpr int kVectors = (Rows + 3) / 4;
  uint8x16_t of[kVectors];
  SDX_INLINE explicit QuadRows(const uint8_t* a) {
    unroll<kVectors>([&](auto i) __attribute__((always_inline)) {
      constexpr size_t kBytes = 4 * (Rows - 4 * i.value < 4 ? Rows - 4 * i.value : 4);
      uint8x16_t raw;
      if constexpr (kBytes == 16) {
        raw = vld1q_u8(a + 16 * i.value);
      } else if constexpr (kBytes == 8) {
        raw = vcombine_u8(vld1_u8(a + 16 * i.value), vdup_n_u8(0));
      } else {
        raw = vdupq_n_u8(0);
        std::memcpy(&raw, a + 16 * i.value, kBytes);
      }
      of[i.value] = flipped<Dot>(raw);
    });
  }
};

inline constexpr int kDotRows = 6,
                     kDotVecs = 4;  // as many sums as leave registers for the operands

template <class Dot, int Rows>
void dot_tile(const QuadTile& t, size_t first_row, size_t col) {
  int32x4_t acc[Rows][kDotVecs];
  repeat<kDotVecs>([&](int v) __attribute__((always_inline)) {
    const int32x4_t first = first_sum<Dot>(t.b_sum + col + 4 * v);
    repeat<Rows>([&](int r) __attribute__((always_inline)) { acc[r][v] = first; });
  });
  const uint8_t* a = t.a + 4 * first_row;
  const int8_t* b = t.b + 4 * col;
  for (size_t i = t.quads; i != 0; --i, a += 4 * t.rows, b += 4 * t.width) {
    int8x16_t columns[kDotVecs];
    repeat<kDotVecs>([&](int v)
                         __attribute__((always_inline)) { columns[v] = vld1q_s8(b + 16 * v); });
    const QuadRows<Dot, Rows> rows(a);
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      repeat<kDotVecs>([&](int v) __attribute__((always_inline)) {
        acc[r.value][v] =
            Dot::template add<r.value % 4>(acc[r.value][v], columns[v], rows.of[r.value / 4]);
      });
    });
  }
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<kDotVecs>([&](int v) __attribute__((always_inline)) {
      vst1q_s32(t.sum + (first_row + r) * kPanel + col + 4 * v, acc[r][v]);
    });
  });
}

template <class Dot>
void dot_tiles(const QuadTile& t) {
  for (size_t col = 0; col < t.width; col += 4 * kDotVecs) {
    size_t row = 0;
    for (; row + kDotRows <= t.rows; row += kDotRows) dot_tile<Dot, kDotRows>(t, row, col);
    unroll<kDotRows - 1>([&](auto r) {
      if (t.rows - row == r.value + 1) dot_tile<Dot, r.value + 1>(t, row, col);
    });
  }
}

inline void sum_products(const QuadTile& t, Int8Unit unit) {
  if (unit == Int8Unit::neon_i8mm) return dot_tiles<MixedDot>(t);
  if (unit == Int8Unit::neon_dot) return dot_tiles<SignedDot>(t);
  dot_tiles<WideDot>(t);
}

#else

inline void sum_products(const QuadTile& t, Int8Unit) {
  for (size_t row = 0; row < t.rows; ++row) {
    uint32_t acc[kPanel] = {};
    for (size_t i = 0; i < t.quads; ++i) {
      const uint8_t* a = t.a + 4 * (i * t.rows + row);
      const int8_t* b = t.b + 4 * i * t.width;
      for (size_t j = 0; j < t.width; ++j) {
        acc[j] += uint32_t(a[0] * b[4 * j] + a[1] * b[4 * j + 1] + a[2] * b[4 * j + 2] +
                           a[3] * b[4 * j + 3]);
      }
    }
    std::memcpy(t.sum + row * kPanel, acc, sizeof acc);
  }
}

#endif

}  // namespace sdx::SDX_ISA
