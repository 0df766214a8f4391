#include <bit>

#include "kernel/gemm_q4/block.h"
#include "kernel/simd/f32x16.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

// Panels that run together: chains enough to hide the latency of one, few enough for the registers.
template <int Rows>
constexpr int kPanelsAtOnce =
#if defined(SDX_ISA_avx512)
    4;
#elif defined(SDX_ISA_avx2) || defined(SDX_ISA_neon)
    Rows == 1 ? 2 : 1;
#else
    1;
#endif

constexpr size_t kVector = kQ4Columns * sizeof(float);

// Rows that are read off one load of the words. A load that begins some bytes later brings the next
// ones to the lowest bits, where a shift would take a turn of the pipes that multiply.
#if defined(SDX_ISA_avx512)
constexpr int kRowsPerLoad = 2;
#else
constexpr int kRowsPerLoad = 4;
#endif

SDX_INLINE I32x16 load_words(const char* p) {
  I32x16 words = I32x16::load(reinterpret_cast<const int32_t*>(p));
#if defined(SDX_ISA_avx512)
  asm("" : "+v"(words.v));  // else every row would load them again
#endif
  return words;
}
SDX_INLINE F32x16 load_floats(const char* p) { return load(reinterpret_cast<const float*>(p)); }

// Turns words into the differences q - zero point of one row. They are small integers, so however
// they are made they are exact, and a zero is +0.
template <bool Zeros>
struct Differences {
  // Of each row of a load: the zero point, plus the power of two below which its four bits, left
  // where they are, count as integers.
  F32x16 raised[kRowsPerLoad];
  static constexpr float power(int row) { return float(1 << (23 - 4 * row)); }

  SDX_INLINE void set_zero(F32x16 zero) {
    repeat<kRowsPerLoad>([&](int r) __attribute__((always_inline)) {
      raised[r] = zero + F32x16(power(r));
    });
#if defined(SDX_ISA_avx512)
    raised[0] = zero;
#endif
  }

#if defined(SDX_ISA_avx512)
  // Half of the rows by a table of the sixteen answers, of which vpermps looks up what the lowest
  // four bits say: together with the other half it keeps all pipes of a core busy.
  static SDX_INLINE F32x16 table(float zero) {
    float answers[16];
    for (int i = 0; i < 16; ++i) answers[i] = Zeros ? float(i) : float(i) - zero;
    return load(answers);
  }
  SDX_INLINE F32x16 at(int row, I32x16 words, F32x16 answers) const {
    if (row == 0) {
      const F32x16 d = _mm512_maskz_permutexvar_ps(0xffff, (__m512i)words.v, answers.v);
      return Zeros ? d - raised[0] : d;
    } else {
      const I32x16 mask = 15 << 4 * row, exponent = bits(F32x16(power(row)));
      constexpr int kAndOr = 0xea;
      const F32x16 q = _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
          (__m512i)words.v, (__m512i)mask.v, (__m512i)exponent.v, kAndOr));
      return q - raised[row];
    }
  }
#else
  static SDX_INLINE F32x16 table(float) { return 0.0f; }
  SDX_INLINE F32x16 at(int row, I32x16 words, F32x16) const {
    const I32x16 mask = 15 << 4 * row, exponent = bits(F32x16(power(row)));
    return from_bits((words & mask) | exponent) - raised[row];
  }
#endif
};

// Where a load begins that brings row `first` to the lowest bits: later, or earlier where the bytes
// of a word lie the other way round. What it also reads of a neighbour stays in the highest bits.
constexpr int next_rows(int first) {
  return std::endian::native == std::endian::little ? first / 2 : -first / 2;
}

// A group is one stretch of memory, and the next one lies behind it. Where its panels are read in
// turns, prefetchers see gaps, so the first turn fetches for all of them; and far ahead, since a
// step takes less time than memory.
SDX_INLINE void fetch_ahead(const char* at, size_t step) {
  constexpr size_t kAhead = 8192, kLine = 64;
  for (size_t i = 0; i < step; i += kLine) __builtin_prefetch(at + kAhead + i, 0, 2);
}

// Walks down `Panels` panels of a group; take(row, weights) gets the elements of each row as
// floats.
template <int Panels, bool Zeros, class Take>
SDX_INLINE void each_row(const Q4Block& b, size_t panel, Take&& take) {
  const size_t step = b.panels * kVector;
  const F32x16 table = Differences<Zeros>::table(b.zero);
  Differences<Zeros> differences[Zeros ? Panels : 1];
  if constexpr (!Zeros) differences[0].set_zero(b.zero);
  F32x16 scale[Panels];
  const char* at = b.group + panel * kVector;
  for (size_t first = 0; first < b.k; first += b.block) {
    const size_t end = first + (b.k - first < b.block ? b.k - first : b.block);
    repeat<Panels>([&](int p) __attribute__((always_inline)) {
      scale[p] = load_floats(at + p * kVector);
      if constexpr (Zeros) {
        differences[p].set_zero(load_floats(at + step + p * kVector));
      }
    });
    at += Zeros ? 2 * step : step;
    for (size_t row = first; row < end; row += kQ4Rows, at += step) {
      const size_t rows = end - row;
      if (panel == 0) fetch_ahead(at, step);
      const auto walk = [&](auto whole) __attribute__((always_inline)) {
        repeat<int(kQ4Rows) / kRowsPerLoad>([&](int load) __attribute__((always_inline)) {
          const int first_row = load * kRowsPerLoad;
          I32x16 words[Panels];
          repeat<Panels>([&](int p) __attribute__((always_inline)) {
            words[p] = load_words(at + p * kVector + next_rows(first_row));
          });
          repeat<kRowsPerLoad>([&](int r) __attribute__((always_inline)) {
            if (!whole.value && size_t(first_row + r) >= rows) return;
            F32x16 weights[Panels];
            repeat<Panels>([&](int p) __attribute__((always_inline)) {
              const auto& from = differences[Zeros ? p : 0];
              const F32x16 d = from.at(r, words[p], table);
              weights[p] = d * scale[p];
            });
            take(row + first_row + r, weights);
          });
        });
      };
      rows >= kQ4Rows ? walk(std::true_type()) : walk(std::false_type());
    }
  }
}

template <int Rows, int Panels, bool Zeros>
void multiply(const Q4Block& b, size_t panel) {
  F32x16 sum[Rows][Panels];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Panels>([&](int p) __attribute__((always_inline)) { sum[r][p] = 0.0f; });
  });
  each_row<Panels, Zeros>(
      b, panel, [&](size_t k, const F32x16* w) __attribute__((always_inline)) {
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
          const F32x16 x = b.a[r * b.lda + k];
          repeat<Panels>([&](int p) __attribute__((always_inline)) {
            sum[r][p] = fma(x, w[p], sum[r][p]);
          });
        });
      });
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Panels>([&](int p) __attribute__((always_inline)) {
      const size_t first = (panel + p) * kQ4Columns, left = b.cols - first;
      float* c = b.c + r * b.ldc + first;
      const F32x16 y = lanes::canonical(sum[r][p]);
      left >= kQ4Columns ? store(c, y) : store_n(c, y, left);
    });
  });
}

template <int Rows, bool Zeros>
void multiply_rows(const Q4Block& b) {
  constexpr size_t kAtOnce = kPanelsAtOnce<Rows>;
  size_t panel = 0;
  for (; panel + kAtOnce <= b.panels; panel += kAtOnce) multiply<Rows, kAtOnce, Zeros>(b, panel);
  for (; panel < b.panels; ++panel) multiply<Rows, 1, Zeros>(b, panel);
}

}  // namespace

void q4_multiply(const Q4Block& b) {
  unroll<int(kQ4MostRows)>([&](auto r) {
    if (b.rows != r.value + 1) return;
    b.has_zeros ? multiply_rows<r.value + 1, true>(b) : multiply_rows<r.value + 1, false>(b);
  });
}

void q4_dequantize(const Q4Block& b, size_t panel, float* out, size_t step) {
  const auto write = [&](size_t k, const F32x16* w) __attribute__((always_inline)) {
    store(out + k * step, *w);
  };
  b.has_zeros ? each_row<1, true>(b, panel, write) : each_row<1, false>(b, panel, write);
}

}  // namespace sdx::SDX_ISA
