// dot_quads: the AVX512-VNNI instruction that sums products of four bytes into each 32-bit lane.
#pragma once

#if defined(SDX_ISA_avx512)
#include <immintrin.h>

namespace sdx::SDX_ISA {

// sum + unsigned bytes of a times signed bytes of b. As assembly, for the instruction is not part
// of this level; only a machine that has it comes here.
[[gnu::always_inline]] inline __m512i dot_quads(__m512i sum, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

}  // namespace sdx::SDX_ISA
#endif
