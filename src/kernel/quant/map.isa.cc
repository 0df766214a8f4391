#include "kernel/quant/map.h"

#if defined(SDX_ISA_avx512)
#include <immintrin.h>
#endif

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

#else

bool has_byte_permutes() { return false; }
size_t map_vectors(const uint8_t*, uint8_t*, size_t, const uint8_t*) { return 0; }

#endif

}  // namespace

void map_bytes(const uint8_t* x, uint8_t* y, size_t n, const uint8_t* table) {
  size_t i = has_byte_permutes() ? map_vectors(x, y, n, table) : 0;
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
