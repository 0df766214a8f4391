// ReadyRows: a few rows of unsigned bytes, made ready for tiles on machines of x86 that have no
// instruction to sum products of bytes.
//
// vpmaddubsw adds two products of bytes in 16 bits and saturates. It cannot where no unsigned byte
// is above a limit that the signed bytes set (127 for any of them), and then multiplies 32 bytes at
// a step; below a lower limit, two such sums can be added before they are widened. vpmaddwd on
// bytes widened to 16 bits is always exact and multiplies half as many. So rows are looked at once
// and then run against all columns while they are in the first cache. Bytes above a limit are cut
// in two: what is up to the limit stays, the rest is multiplied apart, quad by quad. Where there
// are many such quads, rows are widened instead.
#pragma once

#if defined(SDX_ISA_avx2) || defined(SDX_ISA_avx512)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernel/gemm_int8/most.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

inline constexpr size_t kReadyRows = 6;     // as many sums as leave registers for the operands
inline constexpr size_t kReadyDepth = 512;  // bytes of a row; a multiple of 32

// The largest unsigned bytes that saturate neither the sum of two products nor that of four.
struct SafeLimits {
  uint8_t two, four;
  explicit SafeLimits(const Int8Most& most) : two(limit(most.two)), four(limit(most.four)) {}

 private:
  static uint8_t limit(int32_t most) {
    return uint8_t(most < 129 ? 255 : 32767 / most);  // 255 * 128 < 2^15
  }
};

struct ReadyRows {
  // Rows are an odd number of cache lines apart, so that they fall into different sets.
  static constexpr size_t kByteStep = kReadyDepth + 64, kWordStep = kReadyDepth + 32;
  static constexpr size_t kMostHot = kReadyDepth / 4 / 8;  // more would cost more than words
  alignas(64) uint8_t bytes[kReadyRows][kByteStep];
  alignas(64) int16_t words[kReadyRows][kWordStep];
  uint8_t rest[kReadyRows][4 * kMostHot];  // of the hot quads, what is above the limit
  uint16_t hot[kMostHot];                  // which quads they are
  size_t quads;                            // of bytes that count
  size_t hots;
  enum { four, two, words_only } form;  // products that are added before they are widened

  // After `rows` rows of 4 * quads bytes were written, zeros behind them up to a multiple of 32.
  void settle(size_t rows, SafeLimits limits) {
    const size_t n = (4 * quads + 31) / 32 * 32;
    // What is above the limit is multiplied two by two.
    if (255 - limits.four <= limits.two && find_hot(rows, n, limits.four, quads / 16)) {
      form = four;
      return cut(rows, limits.four);
    }
    if (find_hot(rows, n, limits.two, (quads + 4) / 8)) {
      form = two;
      return cut(rows, limits.two);
    }
    form = words_only;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < n; i += 16) {
        const __m128i some = _mm_load_si128((const __m128i*)(bytes[r] + i));
        _mm256_store_si256((__m256i*)(words[r] + i), _mm256_cvtepu8_epi16(some));
      }
    }
  }

 private:
  // Lists the quads that have bytes above the limit in some row; false if there are too many.
  bool find_hot(size_t rows, size_t n, uint8_t limit, size_t most) {
    const __m256i limits = _mm256_set1_epi8(char(limit));
    hots = 0;
    if (limit == 255) return true;
    for (size_t i = 0; i < n; i += 32) {
      __m256i above = _mm256_setzero_si256();
      for (size_t r = 0; r < rows; ++r) {
        const __m256i x = _mm256_load_si256((const __m256i*)(bytes[r] + i));
        above = _mm256_or_si256(above, _mm256_subs_epu8(x, limits));
      }
      if (_mm256_testz_si256(above, above)) continue;
      const __m256i cold = _mm256_cmpeq_epi32(above, _mm256_setzero_si256());
      unsigned found = ~unsigned(_mm256_movemask_ps(_mm256_castsi256_ps(cold))) & 255;
      for (; found != 0; found &= found - 1) {
        if (hots == most) return false;
        hot[hots++] = uint16_t(i / 4 + unsigned(__builtin_ctz(found)));
      }
    }
    return true;
  }

  void cut(size_t rows, uint8_t limit) {
    for (size_t h = 0; h < hots; ++h) {
      for (size_t r = 0; r < rows; ++r) {
        for (size_t i = 0; i < 4; ++i) {
          uint8_t& x = bytes[r][4 * size_t(hot[h]) + i];
          const uint8_t low = x < limit ? x : limit;
          rest[r][4 * h + i] = uint8_t(x - low);
          x = low;
        }
      }
    }
  }
};

// The sums of rows against 8 * Vecs columns (bytes) or 4 * Vecs (words): w is [quad][column][4],
// quads `step` bytes apart; they are added to `sum` if there are `more` than these.
struct ReadyTile {
  const ReadyRows& rows;
  const int8_t* w;
  size_t step;
  int32_t* sum;
  size_t ld;
  bool more;
};

// Stores the sums of eight columns each, or adds them to those that are there.
template <int Rows, int Vecs, class Of>
[[gnu::always_inline]] inline void put(const ReadyTile& t, Of&& of) {
  int32_t* const sum = t.sum;  // not to be read again after each store
  const size_t ld = t.ld;
  const auto each = [&](auto more) __attribute__((always_inline)) {
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        auto* to = (__m256i*)(sum + r * ld + 8 * v);
        __m256i s = of(r, v);
        if constexpr (more.value != 0) s = _mm256_add_epi32(s, _mm256_loadu_si256(to));
        _mm256_storeu_si256(to, s);
      });
    });
  };
  t.more ? each(Index<1>{}) : each(Index<0>{});
}

// Keeps g++ from loading the next rows before this one's sums are made, for which it would put
// others aside.
template <class T, int Vecs>
[[gnu::always_inline]] inline void row_done(const T*& a, __m256i (&acc)[Vecs]) {
  asm("" : "+r"(a), "+x"(acc[Vecs - 2]), "+x"(acc[Vecs - 1]));
}

template <int Rows, int Vecs, bool kFour>
[[gnu::noinline]] void byte_tile(const ReadyTile& t) {
  __m256i acc[Rows][Vecs];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = _mm256_setzero_si256(); });
  });
  const __m256i ones = _mm256_set1_epi16(1);
  // One quad of each row; rows lie `Step` bytes apart.
  const auto take = [&]<int Step>(const uint8_t*& a, const int8_t* w, Index<Step>)
      __attribute__((always_inline)) {
    __m256i weights[Vecs];
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      weights[v] = _mm256_loadu_si256((const __m256i*)(w + 32 * v));
    });
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      int32_t quad;
      std::memcpy(&quad, a + r * Step, sizeof quad);
      const __m256i x = _mm256_set1_epi32(quad);
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        const __m256i pairs = _mm256_maddubs_epi16(x, weights[v]);
        acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(pairs, ones));
      });
      row_done(a, acc[r]);
    });
  };
  const uint8_t* a = t.rows.bytes[0];
  const int8_t* w = t.w;
  size_t quads = t.rows.quads;
  if constexpr (kFour) {
    for (; quads >= 2; quads -= 2, a += 8, w += 2 * t.step) {
      repeat<Rows>([&](int r) __attribute__((always_inline)) {
        int32_t quad[2];
        std::memcpy(quad, a + r * ReadyRows::kByteStep, sizeof quad);
        const __m256i x = _mm256_set1_epi32(quad[0]), next = _mm256_set1_epi32(quad[1]);
        repeat<Vecs>([&](int v) __attribute__((always_inline)) {
          const auto* at = (const __m256i*)(w + 32 * v);
          const auto* after = (const __m256i*)(w + t.step + 32 * v);
          const __m256i pairs =
              _mm256_add_epi16(_mm256_maddubs_epi16(x, _mm256_loadu_si256(at)),
                               _mm256_maddubs_epi16(next, _mm256_loadu_si256(after)));
          acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(pairs, ones));
        });
        row_done(a, acc[r]);
      });
    }
  }
  for (; quads != 0; --quads, a += 4, w += t.step) take(a, w, Index<ReadyRows::kByteStep>{});
  a = t.rows.rest[0];
  for (size_t h = 0; h < t.rows.hots; ++h, a += 4)
    take(a, t.w + t.rows.hot[h] * t.step, Index<4 * ReadyRows::kMostHot>{});
  put<Rows, Vecs>(
      t, [&](int r, int v) __attribute__((always_inline)) { return acc[r][v]; });
}

template <int Rows, int Vecs>
[[gnu::noinline]] void word_tile(const ReadyTile& t) {
  __m256i acc[Rows][Vecs];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = _mm256_setzero_si256(); });
  });
  const int16_t* a = t.rows.words[0];
  const int8_t* w = t.w;
  for (size_t i = t.rows.quads; i != 0; --i, a += 4, w += t.step) {
    __m256i weights[Vecs];
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      weights[v] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(w + 16 * v)));
    });
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      int64_t quad;
      std::memcpy(&quad, a + r * ReadyRows::kWordStep, sizeof quad);
      const __m256i x = _mm256_set1_epi64x(quad);
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        acc[r][v] = _mm256_add_epi32(acc[r][v], _mm256_madd_epi16(x, weights[v]));
      });
      row_done(a, acc[r]);
    });
  }
  // A column has two lanes.
  put<Rows, Vecs / 2>(
      t, [&](int r, int v) __attribute__((always_inline)) {
        const __m256i s = _mm256_hadd_epi32(acc[r][2 * v], acc[r][2 * v + 1]);
        return _mm256_permute4x64_epi64(s, 0xd8);
      });
}

// One or two rows take more columns at a time, for else few sums would be under way; one takes all
// of a panel, which is then read as it lies.
template <int Rows, bool kFour,
          int Vecs = Rows == 1   ? 8
                     : Rows == 2 ? 4
                                 : 2>
void byte_tiles(ReadyTile t, size_t width) {
  for (; width >= 8 * Vecs; width -= 8 * Vecs, t.w += 32 * Vecs, t.sum += 8 * Vecs)
    byte_tile<Rows, Vecs, kFour>(t);
  if constexpr (Vecs > 2) {
    if (width != 0) byte_tiles<Rows, kFour, Vecs / 2>(t, width);
  }
}

template <int Rows>
void ready_tiles(ReadyTile t, size_t width) {
  constexpr int kVecs = Rows <= 2 ? 4 : 2;
  if (t.rows.form == ReadyRows::four) return byte_tiles<Rows, true>(t, width);
  if (t.rows.form == ReadyRows::two) return byte_tiles<Rows, false>(t, width);
  for (size_t col = 0; col < width; col += 4 * kVecs, t.w += 16 * kVecs, t.sum += 4 * kVecs)
    word_tile<Rows, kVecs>(t);
}

// The rows against all `width` columns, a multiple of 16, of a panel.
inline void multiply_ready(const ReadyTile& t, size_t rows, size_t width) {
  unroll<int(kReadyRows)>([&](auto r) {
    if (rows == r.value + 1) ready_tiles<r.value + 1>(t, width);
  });
}

}  // namespace sdx::SDX_ISA
#endif
