#include "kernel/quant/map.h"

#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
#include <immintrin.h>
#endif

#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

#if defined(SDX_ISA_avx512)

// Not part of the level, and what it gives is the same: asked once.
bool has_byte_permutes() {
  static const bool found = __builtin_cpu_supports("avx512vbmi") != 0;
  return found;
}

// The bytes of a table of 128 that the low seven bits of x name.
[[gnu::always_inline]] inline __m512i look_up(__m512i x, __m512i low, __m512i high) {
  asm("vpermi2b %2, %1, %0" : "+v"(x) : "v"(low), "v"(high));
  return x;
}

size_t map_vectors(const uint8_t* x, uint8_t* y, size_t n, const uint8_t* table) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64),
                t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i bytes = _mm512_loadu_si512(x + i);
    const __m512i low = look_up(bytes, t0, t1), high = look_up(bytes, t2, t3);
    _mm512_storeu_si512(y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high));
  }
  return i;
}

#endif

#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)

// The table in sixteen rows of sixteen bytes. A shuffle takes the byte that the low half of an
// index names, and 0 where the index is negative; 16 is subtracted from row to row, so that an
// index meets the rows up to its own. These are kept as what is new in each: the exclusive or of
// all that it meets is the byte of the last one. Indices from 128 on are negative, and have eight
// rows of their own, in which the others are.
class Rows {
 public:
  explicit Rows(const uint8_t* table) {
    for (int i = 0; i < 16; ++i) {
      const __m128i now = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i));
      const __m128i last =
          i % 8 == 0 ? _mm_setzero_si128()
                     : _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * (i - 1)));
      row_[i] = _mm256_broadcastsi128_si256(_mm_xor_si128(now, last));
    }
  }

  // Vectors at once, which share the loads of the rows.
  template <int Vecs>
  [[gnu::always_inline]] void map(const uint8_t* x, uint8_t* y) const {
    __m256i low[Vecs], high[Vecs], found[Vecs];
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      low[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x) + v);
      high[v] = _mm256_xor_si256(low[v], _mm256_set1_epi8(-128));
      found[v] = _mm256_xor_si256(_mm256_shuffle_epi8(row_[0], low[v]),
                                  _mm256_shuffle_epi8(row_[8], high[v]));
    });
    const __m256i sixteen = _mm256_set1_epi8(16);
    repeat<7>([&](int i) __attribute__((always_inline)) {
      const __m256i of_low = row_[i + 1], of_high = row_[i + 9];
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        low[v] = _mm256_subs_epi8(low[v], sixteen);
        high[v] = _mm256_subs_epi8(high[v], sixteen);
        found[v] = _mm256_xor_si256(found[v], _mm256_shuffle_epi8(of_low, low[v]));
        found[v] = _mm256_xor_si256(found[v], _mm256_shuffle_epi8(of_high, high[v]));
      });
    });
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y) + v, found[v]);
    });
  }

 private:
  __m256i row_[16];
};

size_t map_by_rows(const uint8_t* x, uint8_t* y, size_t n, const uint8_t* table) {
  constexpr size_t kLeast = 256;  // below, the rows cost more than they save
  if (n < kLeast) return 0;
  const Rows rows(table);
  size_t i = 0;
  for (; i + 96 <= n; i += 96) rows.map<3>(x + i, y + i);
  for (; i + 32 <= n; i += 32) rows.map<1>(x + i, y + i);
  return i;
}

#endif

// Returns how many were mapped.
size_t map_most(const uint8_t* x, uint8_t* y, size_t n, const uint8_t* table) {
#if defined(SDX_ISA_avx512)
  if (has_byte_permutes()) return map_vectors(x, y, n, table);
#endif
#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
  return map_by_rows(x, y, n, table);
#else
  return (void)x, (void)y, (void)n, (void)table, size_t{0};
#endif
}

}  // namespace

void map_bytes(const uint8_t* x, uint8_t* y, size_t n, const uint8_t* table) {
  size_t i = map_most(x, y, n, table);
  // Eight bytes to a load and a store; only the table is read one by one.
  for (; i + 8 <= n; i += 8) {
    uint64_t from, to = 0;
    __builtin_memcpy(&from, x + i, 8);
    for (int k = 0; k < 64; k += 8) to |= uint64_t(table[from >> k & 255]) << k;
    __builtin_memcpy(y + i, &to, 8);
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace sdx::SDX_ISA
