// dot_quads: the instruction that sums products of four bytes into each 32-bit lane, vpdpbusd.
//
// As assembly, for it is not part of the level; only a machine that has it comes here.
#pragma once

#if defined(SDX_ISA_avx512) || defined(SDX_ISA_avx2)
#include <immintrin.h>

namespace sdx::SDX_ISA {

// sum + unsigned bytes of a times signed bytes of b.
#if defined(SDX_ISA_avx512)
[[gnu::always_inline]] inline __m512i dot_quads(__m512i sum, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
#else
// AVX-VNNI has the older encoding, AVX512-VNNI the newer one, of the same instruction.
template <bool kVex>
[[gnu::always_inline]] inline __m256i dot_quads(__m256i sum, __m256i a, __m256i b) {
  if constexpr (kVex) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  } else {
    asm("%{evex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
  return sum;
}
#endif

}  // namespace sdx::SDX_ISA
#endif
