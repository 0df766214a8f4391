// Products whose rows are read where they lie, at level avx512 with the instruction that sums four
// products of bytes.
#pragma once

#if defined(SDX_ISA_avx512)
#include "kernel/gemm_int8/ends.h"
#include "kernel/gemm_int8/vnni.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// Rows of A where they lie, against a panel. The zero points' part is what the sums begin with:
// `start` of each row, less a_zero times the columns' sums.
struct RowsTile {
  size_t quads;
  const uint8_t* a;
  size_t a_row;
  const int32_t* panel;  // the columns' sums, then [quad][column][4]
  int32_t a_zero;
  const int32_t* start;
  int32_t* c;
  float* y;  // instead of c, with `affine` at its corner
  const AffineEpilogue* affine;
  size_t ldc, cols;
};

template <int Rows, int Vecs>
void rows_tile(const RowsTile& t) {
  __m512i acc[Rows][Vecs], part[Vecs];
  repeat<Vecs>([&](int v) __attribute__((always_inline)) {
    part[v] = _mm512_mullo_epi32(_mm512_set1_epi32(t.a_zero), _mm512_loadu_si512(t.panel + v * 16));
  });
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      acc[r][v] = _mm512_sub_epi32(_mm512_set1_epi32(t.start[r]), part[v]);
    });
  });
  constexpr int kPointers = (Rows + 2) / 3;  // one for three rows, which addressing modes reach
  const uint8_t* a[kPointers];
  const size_t step = t.a_row;
  repeat<kPointers>([&](int i)
                        __attribute__((always_inline)) { a[i] = t.a + size_t(i) * 3 * step; });
  const auto* b = reinterpret_cast<const int8_t*>(t.panel + Vecs * 16);
  for (size_t i = t.quads; i != 0; --i, b += 64 * Vecs) {
    __m512i row[Vecs];
    repeat<Vecs>([&](int v)
                     __attribute__((always_inline)) { row[v] = _mm512_loadu_si512(b + 64 * v); });
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a[r / 3] + r % 3 * step, sizeof quad);
      const __m512i x = _mm512_set1_epi32(quad);
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        acc[r][v] = dot_quads(acc[r][v], x, row[v]);
      });
    });
    repeat<kPointers>([&](int p) __attribute__((always_inline)) { a[p] += 4; });
  }
  __mmask16 some[Vecs];
  repeat<Vecs>([&](int v) __attribute__((always_inline)) {
    const size_t left = t.cols - v * 16;
    some[v] = left >= 16 ? __mmask16(0xffff) : first_lanes(left);
  });
  if (t.y == nullptr) {
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        _mm512_mask_storeu_epi32(t.c + r * t.ldc + v * 16, some[v], acc[r][v]);
      });
    });
    return;
  }
  const AffineEpilogue& f = *t.affine;
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      const F32 q = finished(f, _mm512_cvtepi32_ps(acc[r][v]), r, v * 16, some[v]);
      _mm512_mask_storeu_ps(t.y + r * t.ldc + v * 16, some[v], q.v);
    });
  });
}

using RowsFn = void (*)(const RowsTile&);
struct RowsTable {
  RowsFn fn[kRowBlock][2];
};
constexpr RowsTable make_rows_table() {
  RowsTable table{};
  unroll<int(kRowBlock)>([&](auto r) {
    unroll<2>([&](auto v) { table.fn[r.value][v.value] = &rows_tile<r.value + 1, v.value + 1>; });
  });
  return table;
}
inline constexpr RowsTable kRowsTiles = make_rows_table();

// One zero point for each operand, whole quads of unsigned bytes, and rows that do not push each
// other out of the first cache, whose sets repeat every 4 KiB.
inline bool reads_rows_in_place(const Int8Block& g) {
  if (g.unit == Int8Unit::plain || g.a_packed != nullptr || g.a_signed || g.a_k != 1 ||
      g.k % 4 != 0 || g.requantize.y != nullptr || (g.a_zero != nullptr && g.a_zero_step != 0) ||
      (g.b_zero != nullptr && g.b_zero_step != 0)) {
    return false;
  }
  size_t together = 0;
  for (size_t r = 0; r < kRowBlock; ++r) {
    const size_t at = r * g.a_row % 4096;
    together += at < 64 || at > 4096 - 64;
  }
  return together <= 4;
}

// Of bytes with some bits flipped.
inline uint32_t sum_of_bytes(const uint8_t* p, size_t n, uint8_t flip = 0) {
  __m512i sum = _mm512_setzero_si512();
  for (size_t i = 0; i < n; i += 64) {
    const __mmask64 some = n - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (n - i)) - 1;
    const __m512i bytes = _mm512_maskz_mov_epi8(
        some, _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, p + i), _mm512_set1_epi8(char(flip))));
    sum = _mm512_add_epi64(sum, _mm512_sad_epu8(bytes, _mm512_setzero_si512()));
  }
  return uint32_t(_mm512_reduce_add_epi64(sum));
}

// A row block against the panels of columns [first, end).
inline void run_rows(const Int8Block& g, size_t row, size_t rows, size_t first, size_t end) {
  const uint32_t a_zero = uint32_t(zero_at(g.a_zero, 0, g.a_zero_add, 0)),
                 b_zero = uint32_t(zero_at(g.b_zero, 0, g.b_zero_add, 0));
  int32_t start[kRowBlock] = {};
  RowsTile t{};
  t.quads = g.k / 4;
  t.a = static_cast<const uint8_t*>(g.a) + row * g.a_row;
  t.a_row = g.a_row;
  for (size_t r = 0; r < rows && b_zero != 0; ++r)
    start[r] = int32_t(b_zero * (uint32_t(g.k) * a_zero - sum_of_bytes(t.a + r * g.a_row, g.k)));
  t.a_zero = int32_t(a_zero);
  t.start = start;
  t.ldc = g.ldc;
  AffineEpilogue affine;
  t.affine = &affine;
  for (size_t col = first; col < end; col += kPanel) {
    const size_t at = row * g.ldc + col;
    t.panel = g.b + col / kPanel * int8_panel_size(g.k, kPanel);
    t.cols = kPanel < g.cols - col ? kPanel : g.cols - col;
    if (g.y != nullptr) {
      t.y = g.y + at;
      affine = g.affine.at(row, col);
    } else {
      t.c = g.c + at;
    }
    kRowsTiles.fn[rows - 1][panel_width(t.cols) / 16 - 1](t);
  }
}

}  // namespace sdx::SDX_ISA
#endif
