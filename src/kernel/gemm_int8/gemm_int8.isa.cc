#include "kernel/gemm_int8/block.h"
#include "kernel/gemm_int8/neon.h"
#include "kernel/gemm_int8/saturate.h"
#include "kernel/gemm_int8/vnni.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

size_t least(size_t a, size_t b) { return a < b ? a : b; }

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
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      acc[r.value][v.value] = _mm512_setzero_si512();
    });
  });
  const uint8_t* a = t.a;
  const int8_t* b = t.b;
  for (size_t i = t.quads; i != 0; --i, a += 4 * Rows, b += 64 * Vecs) {
    __m512i row[Vecs];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      row[v.value] = _mm512_loadu_si512(b + 64 * v.value);
    });
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a + 4 * r.value, sizeof quad);
      const __m512i x = _mm512_set1_epi32(quad);
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = dot_quads(acc[r.value][v.value], x, row[v.value]);
      });
    });
  }
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      _mm512_storeu_si512(t.sum + r.value * kPanel + v.value * 16, acc[r.value][v.value]);
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
constexpr VnniTable kVnniTiles = make_vnni_table();

#endif

#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)

// vpmaddubsw would saturate, so bytes are widened: 16-bit products and the sums of two of them are
// exact in 32 bits.
template <int Rows>
void wide_tile(const QuadTile& t, size_t first_row, size_t col) {
  __m256i acc[Rows][2];
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    acc[r.value][0] = acc[r.value][1] = _mm256_setzero_si256();
  });
  const uint8_t* a = t.a + 4 * first_row;
  const int8_t* b = t.b + 4 * col;
  for (size_t i = t.quads; i != 0; --i, a += 4 * t.rows, b += 4 * t.width) {
    const __m256i b0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
    const __m256i b1 =
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 16)));
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a + 4 * r.value, sizeof quad);
      const __m256i x = _mm256_cvtepu8_epi16(_mm_set1_epi32(quad));
      acc[r.value][0] = _mm256_add_epi32(acc[r.value][0], _mm256_madd_epi16(x, b0));
      acc[r.value][1] = _mm256_add_epi32(acc[r.value][1], _mm256_madd_epi16(x, b1));
    });
  }
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    const __m256i pairs = _mm256_hadd_epi32(acc[r.value][0], acc[r.value][1]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sum + (first_row + r.value) * kPanel + col),
                        _mm256_permute4x64_epi64(pairs, 0xd8));
  });
}

#if defined(SDX_ISA_avx2)

template <bool kVex, int Rows>
void half_tile(const QuadTile& t, size_t first_row, size_t col) {
  __m256i acc[Rows][2];
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    acc[r.value][0] = acc[r.value][1] = _mm256_setzero_si256();
  });
  const uint8_t* a = t.a + 4 * first_row;
  const int8_t* b = t.b + 4 * col;
  for (size_t i = t.quads; i != 0; --i, a += 4 * t.rows, b += 4 * t.width) {
    const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32));
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a + 4 * r.value, sizeof quad);
      const __m256i x = _mm256_set1_epi32(quad);
      acc[r.value][0] = dot_quads<kVex>(acc[r.value][0], x, b0);
      acc[r.value][1] = dot_quads<kVex>(acc[r.value][1], x, b1);
    });
  }
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    auto* sum = reinterpret_cast<__m256i*>(t.sum + (first_row + r.value) * kPanel + col);
    _mm256_storeu_si256(sum, acc[r.value][0]);
    _mm256_storeu_si256(sum + 1, acc[r.value][1]);
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

#endif

void sum_products(const QuadTile& t, Int8Unit unit) {
#if defined(SDX_ISA_avx512)
  if (unit != Int8Unit::plain) return kVnniTiles.fn[t.rows - 1][t.width / 16 - 1](t);
#else
  if (unit == Int8Unit::avx_vnni) return half_tiles<true>(t);
  if (unit == Int8Unit::avx_vnni_evex) return half_tiles<false>(t);
#endif
  for (size_t col = 0; col < t.width; col += 8) {
    size_t row = 0;
    for (; row + 6 <= t.rows; row += 6) wide_tile<6>(t, row, col);
    for (; row + 3 <= t.rows; row += 3) wide_tile<3>(t, row, col);
    for (; row < t.rows; ++row) wide_tile<1>(t, row, col);
  }
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

constexpr int kDotRows = 6, kDotVecs = 4;  // as many sums as leave registers for the operands

template <class Dot, int Rows>
void dot_tile(const QuadTile& t, size_t first_row, size_t col) {
  int32x4_t acc[Rows][kDotVecs];
  unroll<kDotVecs>([&](auto v) __attribute__((always_inline)) {
    const int32x4_t first = first_sum<Dot>(t.b_sum + col + 4 * v.value);
    unroll<Rows>([&](auto r) __attribute__((always_inline)) { acc[r.value][v.value] = first; });
  });
  const uint8_t* a = t.a + 4 * first_row;
  const int8_t* b = t.b + 4 * col;
  for (size_t i = t.quads; i != 0; --i, a += 4 * t.rows, b += 4 * t.width) {
    int8x16_t columns[kDotVecs];
    unroll<kDotVecs>([&](auto v) __attribute__((always_inline)) {
      columns[v.value] = vld1q_s8(b + 16 * v.value);
    });
    const QuadRows<Dot, Rows> rows(a);
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<kDotVecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = Dot::template add<r.value % 4>(
            acc[r.value][v.value], columns[v.value], rows.of[r.value / 4]);
      });
    });
  }
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<kDotVecs>([&](auto v) __attribute__((always_inline)) {
      vst1q_s32(t.sum + (first_row + r.value) * kPanel + col + 4 * v.value, acc[r.value][v.value]);
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

void sum_products(const QuadTile& t, Int8Unit unit) {
  if (unit == Int8Unit::neon_i8mm) return dot_tiles<MixedDot>(t);
  if (unit == Int8Unit::neon_dot) return dot_tiles<SignedDot>(t);
  dot_tiles<WideDot>(t);
}

#else

void sum_products(const QuadTile& t, Int8Unit) {
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

int32_t zero_at(const int32_t* zero, size_t step, int32_t add, size_t i) {
  return int32_t((zero == nullptr ? 0u : uint32_t(zero[i * step])) + uint32_t(add));
}

// One row of sums less a_zero times the columns' sums, plus `add`, as bytes.
struct RequantizeRow {
  uint32_t a_zero, add;
  float ratio;
  int32_t zero, low;
};

void requantize_row(const RequantizeRow& t, const int32_t* sum, const int32_t* col_sum, size_t cols,
                    uint8_t* y) {
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
  for (size_t j = 0; j < cols; ++j) {
    const uint32_t c = col_sum == nullptr ? 0 : uint32_t(col_sum[j]);
    const uint32_t s = uint32_t(sum[j]) - t.a_zero * c + t.add;
    y[j] = saturated(float(int32_t(s)) * t.ratio, t.zero, t.low);
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
float finished(const AffineEpilogue& f, float v, size_t row, size_t col) {
  v *= f.alpha;
  if (f.bias != nullptr) v += f.bias[row * f.bias_row + col * f.bias_col] * f.beta;
  if (f.other != nullptr) v += f.other[row * f.other_row + col];
  return v == v ? v : __builtin_nanf("");
}
#endif

// A row block's sums of products against one panel, [row][kPanel]: zero points, and into C. `a` has
// the rows' sums.
void end_panel(const Int8Block& g, size_t row, size_t rows, size_t col, const int32_t* a,
               const int32_t* panel, const int32_t* sum) {
  const size_t cols = least(kPanel, g.cols - col);
  if (const Requantize& to = g.requantize; to.y != nullptr) {
    const uint32_t b_zero = uint32_t(zero_at(g.b_zero, 0, g.b_zero_add, 0));
    for (size_t r = 0; r < rows; ++r) {
      const uint32_t a_zero = uint32_t(zero_at(g.a_zero, g.a_zero_step, g.a_zero_add, row + r));
      const uint32_t a_rest = uint32_t(a[r]) - uint32_t(g.k) * a_zero;
      const uint32_t bias = to.bias == nullptr ? 0 : uint32_t(to.bias[row + r]);
      requantize_row(
          {a_zero, bias - b_zero * a_rest, to.ratio[row + r], to.zero, to.is_signed ? -128 : 0},
          sum + r * kPanel, panel, cols, to.y + (row + r) * g.ldc + col);
    }
    return;
  }
  uint32_t b_zero[kPanel] = {};
  for (size_t j = 0; j < cols; ++j)
    b_zero[j] = uint32_t(zero_at(g.b_zero, g.b_zero_step, g.b_zero_add, col + j));
  for (size_t r = 0; r < rows; ++r) {
    const uint32_t a_zero = uint32_t(zero_at(g.a_zero, g.a_zero_step, g.a_zero_add, row + r));
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
    const auto whole = [&](size_t j) {
      return int32_t(uint32_t(sum[r * kPanel + j]) - a_zero * uint32_t(panel[j]) -
                     b_zero[j] * a_rest);
    };
    if (g.y != nullptr) {
      for (size_t j = 0; j < cols; ++j)
        g.y[at + j] = finished(g.affine, float(whole(j)), row + r, col + j);
    } else {
      for (size_t j = 0; j < cols; ++j) g.c[at + j] = whole(j);
    }
#endif
  }
}

// One row block against one panel.
void run_panel(const Int8Block& g, size_t row, size_t rows, size_t col, const int32_t* a,
               const int32_t* panel) {
  alignas(64) int32_t sum[kRowBlock * kPanel];
  const size_t width = panel_width(least(kPanel, g.cols - col));
  sum_products({quads_of(g.k), rows, width, reinterpret_cast<const uint8_t*>(a + rows),
                reinterpret_cast<const int8_t*>(panel + width), sum, panel},
               g.unit);
  end_panel(g, row, rows, col, a, panel, sum);
}

// What follows when the columns [first, end) of some rows are there.
void call_epilogues(const Int8Block& g, size_t row, size_t rows, size_t first, size_t end) {
  if (g.epilogue.fn != nullptr) {
    g.epilogue.fn(g.epilogue.ctx, g.c + row * g.ldc + first, g.ldc, g.row + row, g.col + first,
                  rows, end - first);
  }
  if (g.y_epilogue.fn != nullptr) {
    g.y_epilogue.fn(g.y_epilogue.ctx, g.y + row * g.ldc + first, g.ldc, g.row + row, g.col + first,
                    rows, end - first);
  }
}

#if defined(SDX_ISA_avx512)

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
  unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
    part[v.value] =
        _mm512_mullo_epi32(_mm512_set1_epi32(t.a_zero), _mm512_loadu_si512(t.panel + v.value * 16));
  });
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      acc[r.value][v.value] = _mm512_sub_epi32(_mm512_set1_epi32(t.start[r.value]), part[v.value]);
    });
  });
  constexpr int kPointers = (Rows + 2) / 3;  // one for three rows, which addressing modes reach
  const uint8_t* a[kPointers];
  const size_t step = t.a_row;
  unroll<kPointers>([&](auto i) __attribute__((always_inline)) {
    a[i.value] = t.a + size_t(i.value) * 3 * step;
  });
  const auto* b = reinterpret_cast<const int8_t*>(t.panel + Vecs * 16);
  for (size_t i = t.quads; i != 0; --i, b += 64 * Vecs) {
    __m512i row[Vecs];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      row[v.value] = _mm512_loadu_si512(b + 64 * v.value);
    });
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a[r.value / 3] + r.value % 3 * step, sizeof quad);
      const __m512i x = _mm512_set1_epi32(quad);
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = dot_quads(acc[r.value][v.value], x, row[v.value]);
      });
    });
    unroll<kPointers>([&](auto p) __attribute__((always_inline)) { a[p.value] += 4; });
  }
  __mmask16 some[Vecs];
  unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
    const size_t left = t.cols - v.value * 16;
    some[v.value] = left >= 16 ? __mmask16(0xffff) : first_lanes(left);
  });
  if (t.y == nullptr) {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        _mm512_mask_storeu_epi32(t.c + r.value * t.ldc + v.value * 16, some[v.value],
                                 acc[r.value][v.value]);
      });
    });
    return;
  }
  const AffineEpilogue& f = *t.affine;
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      const F32 q = finished(f, _mm512_cvtepi32_ps(acc[r.value][v.value]), r.value, v.value * 16,
                             some[v.value]);
      _mm512_mask_storeu_ps(t.y + r.value * t.ldc + v.value * 16, some[v.value], q.v);
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
constexpr RowsTable kRowsTiles = make_rows_table();

// One zero point for each operand, whole quads of unsigned bytes, and rows that do not push each
// other out of the first cache, whose sets repeat every 4 KiB.
bool reads_rows_in_place(const Int8Block& g) {
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
uint32_t sum_of_bytes(const uint8_t* p, size_t n, uint8_t flip = 0) {
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
void run_rows(const Int8Block& g, size_t row, size_t rows, size_t first, size_t end) {
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
    t.cols = least(kPanel, g.cols - col);
    if (g.y != nullptr) {
      t.y = g.y + at;
      affine = g.affine.at(row, col);
    } else {
      t.c = g.c + at;
    }
    kRowsTiles.fn[rows - 1][panel_width(t.cols) / 16 - 1](t);
  }
}

// Rows of contiguous bytes, and enough of them to fill a good part of a tile.
bool fits_tiles(const Int8Block& g) {
  return (g.unit == Int8Unit::amx || g.unit == Int8Unit::amx_in_memory) && g.a_packed == nullptr &&
         g.a_k == 1 && g.rows >= 8 && g.k >= 32;
}

// All rows against panels, 32 rows at a time. Signed bytes are taken as they are: the zero point is
// then the caller's, and rows are summed with their signs.
void run_tiles(const Int8Block& given, size_t group) {
  Int8Block g = given;
  g.a_zero_add = 0;
  const size_t blocks = row_blocks(g.rows), begin = row_block_begin(g.rows, blocks, g.block_begin),
               last = row_block_begin(g.rows, blocks, g.block_end);
  alignas(64) int32_t sum[kAmxRows * kPanel];
  Int8Tiles t{};
  t.k = g.k;
  t.a_row = g.a_row;
  t.a_signed = g.a_signed;
  t.sum = sum;
  t.in_memory = g.unit == Int8Unit::amx_in_memory;
  for (size_t first = 0; first < g.cols; first += group) {
    const size_t end = least(g.cols, first + group);
    size_t shaped = 0;
    for (size_t row = begin; row < last; row += t.rows) {
      t.rows = least(kAmxRows, last - row);
      t.a = static_cast<const uint8_t*>(g.a) + row * g.a_row;
      if (t.rows != shaped && !t.in_memory) int8_tiles_begin(t.rows);
      shaped = t.rows;
      int32_t row_sums[kAmxRows];
      for (size_t r = 0; r < t.rows; ++r) {
        const uint32_t s = sum_of_bytes(t.a + r * g.a_row, g.k, g.a_signed ? 0x80 : 0);
        row_sums[r] = int32_t(g.a_signed ? s - 128 * uint32_t(g.k) : s);
      }
      for (size_t col = first; col < end; col += kPanel) {
        const int32_t* panel = g.b + col / kPanel * int8_panel_size(g.k, kPanel);
        t.width = panel_width(least(kPanel, g.cols - col));
        t.b = reinterpret_cast<const int8_t*>(panel + t.width);
        int8_tiles(t);
        end_panel(g, row, t.rows, col, row_sums, panel, sum);
      }
      call_epilogues(g, row, t.rows, first, end);
    }
    if (!t.in_memory) int8_tiles_end();
  }
}

#else

bool fits_tiles(const Int8Block&) { return false; }
void run_tiles(const Int8Block&, size_t) {}
bool reads_rows_in_place(const Int8Block&) { return false; }
void run_rows(const Int8Block&, size_t, size_t, size_t, size_t) {}

#endif

}  // namespace

void int8_requantize(const int32_t* sums, size_t n, uint32_t add, float ratio, int32_t zero,
                     bool is_signed, uint8_t* y) {
  requantize_row({0, add, ratio, zero, is_signed ? -128 : 0}, sums, nullptr, n, y);
}

void int8_block(const Int8Block& g) {
  // Panels that fill about half a megabyte stay in the second-level cache while the rows pass over
  // them; fewer where rows need no packing and an epilogue follows, for the blocks then stay in the
  // first until it.
  const size_t panel_size = int8_panel_size(g.k, kPanel), blocks = row_blocks(g.rows);
  const bool tiles = fits_tiles(g), in_place = tiles || reads_rows_in_place(g),
             waits = g.epilogue.fn != nullptr || g.y_epilogue.fn != nullptr;
  const size_t panels = (g.cols + kPanel - 1) / kPanel,
               most = (in_place && waits ? 32768 : 131072) / panel_size + 1,
               groups = (panels + most - 1) / most, group = (panels + groups - 1) / groups * kPanel;
  if (tiles) return run_tiles(g, group);
  for (size_t first = 0; first < g.cols; first += group) {
    const size_t end = least(g.cols, first + group);
    for (size_t block = g.block_begin; block < g.block_end; ++block) {
      const size_t row = row_block_begin(g.rows, blocks, block);
      const size_t rows = row_block_begin(g.rows, blocks, block + 1) - row;
      if (in_place) {
        run_rows(g, row, rows, first, end);
      } else {
        const int32_t* a = g.a_pack;
        if (g.a_packed != nullptr) {
          a = g.a_packed + int8_rows_size(g.k, row);
        } else {
          int8_pack_rows(static_cast<const char*>(g.a) + row * g.a_row, g.a_signed, g.a_row, g.a_k,
                         g.k, rows, g.a_pack);
        }
        for (size_t col = first; col < end; col += kPanel)
          run_panel(g, row, rows, col, a, g.b + col / kPanel * panel_size);
      }
      call_epilogues(g, row, rows, first, end);
    }
  }
}

}  // namespace sdx::SDX_ISA
