#include "kernel/gemm/tile.h"
#include "kernel/gemm_q4/block.h"
#include "kernel/simd/f32x16.h"

namespace sdx::SDX_ISA {
namespace {

// Panels that run together: chains enough to hide the latency of one, few enough for the registers.
template <int Rows>
constexpr int kPanelsAtOnce =
#if defined(SDX_ISA_avx512)
    4;
#elif defined(SDX_ISA_avx2)
    Rows == 1 ? 2 : 1;
#else
    1;
#endif

// Turns words into the differences q - zero point of one row. They are small integers, so however
// they are made they are exact, and a zero is +0.
#if defined(SDX_ISA_avx512)
struct Differences {
  // By a table of the sixteen answers, of which vpermps looks up what the lowest four bits say.
  F32x16 table;
  explicit Differences(float zero) {
    float answers[16];
    for (int i = 0; i < 16; ++i) answers[i] = float(i) - zero;
    table = load(answers);
  }
  template <int Row>
  SDX_INLINE F32x16 at(I32x16 words) const {
    const auto low = (__m512i)shift_right_logical(words, 4 * Row).v;
    return _mm512_maskz_permutexvar_ps(0xffff, low, table.v);
  }
};
#else
struct Differences {
  F32x16 zero;
  explicit Differences(float z) : zero(z) {}
  template <int Row>
  SDX_INLINE F32x16 at(I32x16 words) const {
    return to_f32(shift_right_logical(words, 4 * Row) & I32x16(15)) - zero;
  }
};
#endif

SDX_INLINE I32x16 load_words(const char* p) {
  return I32x16::load(reinterpret_cast<const int32_t*>(p));
}
SDX_INLINE F32x16 load_floats(const char* p) { return load(reinterpret_cast<const float*>(p)); }

// Walks down `Panels` panels; take(row, weights) gets the elements of each row as floats.
template <int Panels, bool Zeros, class Take>
SDX_INLINE void each_row(const Q4Block& b, const char* panels, Take&& take) {
  constexpr size_t kVector = kQ4Columns * sizeof(float);
  const Differences differences(Zeros ? 0.0f : b.zero);
  const char* at = panels;
  for (size_t first = 0; first < b.k; first += b.block) {
    const size_t end = first + (b.k - first < b.block ? b.k - first : b.block);
    F32x16 scale[Panels], zero[Panels];
    unroll<Panels>([&](auto p) __attribute__((always_inline)) {
      scale[p.value] = load_floats(at + p.value * b.panel_bytes);
      if constexpr (Zeros) zero[p.value] = load_floats(at + p.value * b.panel_bytes + kVector);
    });
    at += Zeros ? 2 * kVector : kVector;
    for (size_t row = first; row < end; row += kQ4Rows, at += kVector) {
      I32x16 words[Panels];
      unroll<Panels>([&](auto p) __attribute__((always_inline)) {
        words[p.value] = load_words(at + p.value * b.panel_bytes);
      });
      const auto step = [&](auto i) __attribute__((always_inline)) {
        F32x16 weights[Panels];
        unroll<Panels>([&](auto p) __attribute__((always_inline)) {
          F32x16 d = differences.template at<i.value>(words[p.value]);
          if constexpr (Zeros) d = d - zero[p.value];
          weights[p.value] = d * scale[p.value];
        });
        take(row + i.value, weights);
      };
      if (end - row >= kQ4Rows) {
        unroll<int(kQ4Rows)>(step);
      } else {
        unroll<int(kQ4Rows)>([&](auto i) __attribute__((always_inline)) {
          if (row + i.value < end) step(i);
        });
      }
    }
  }
}

template <int Rows, int Panels, bool Zeros>
void multiply(const Q4Block& b, size_t col) {
  F32x16 sum[Rows][Panels];
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Panels>([&](auto p) __attribute__((always_inline)) { sum[r.value][p.value] = 0.0f; });
  });
  const char* panels = b.panels + col / kQ4Columns * b.panel_bytes;
  each_row<Panels, Zeros>(
      b, panels, [&](size_t k, const F32x16* w) __attribute__((always_inline)) {
        unroll<Rows>([&](auto r) __attribute__((always_inline)) {
          const F32x16 x = b.a[r.value * b.lda + k];
          unroll<Panels>([&](auto p) __attribute__((always_inline)) {
            sum[r.value][p.value] = fma(x, w[p.value], sum[r.value][p.value]);
          });
        });
      });
  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Panels>([&](auto p) __attribute__((always_inline)) {
      const size_t first = col + p.value * kQ4Columns, left = b.cols - first;
      float* c = b.c + r.value * b.ldc + first;
      const F32x16 y = lanes::canonical(sum[r.value][p.value]);
      left >= kQ4Columns ? store(c, y) : store_n(c, y, left);
    });
  });
}

template <int Rows, bool Zeros>
void multiply_rows(const Q4Block& b) {
  constexpr size_t kAtOnce = kPanelsAtOnce<Rows>;
  size_t col = 0;
  // The last panel may be cut, but it is there as a whole.
  for (; col + (kAtOnce - 1) * kQ4Columns < b.cols; col += kAtOnce * kQ4Columns) {
    multiply<Rows, kAtOnce, Zeros>(b, col);
  }
  for (; col < b.cols; col += kQ4Columns) multiply<Rows, 1, Zeros>(b, col);
}

}  // namespace

void q4_multiply(const Q4Block& b) {
  unroll<int(kQ4MostRows)>([&](auto r) {
    if (b.rows != r.value + 1) return;
    b.has_zeros ? multiply_rows<r.value + 1, true>(b) : multiply_rows<r.value + 1, false>(b);
  });
}

void q4_dequantize(const Q4Block& b, float* out, size_t step) {
  const auto write = [&](size_t k, const F32x16* w) __attribute__((always_inline)) {
    store(out + k * step, *w);
  };
  b.has_zeros ? each_row<1, true>(b, b.panels, write) : each_row<1, false>(b, b.panels, write);
}

}  // namespace sdx::SDX_ISA
