#include "kernel/rows/keys.h"

#include "kernel/simd/apart.h"

namespace sdx::SDX_ISA {

void order_keys(const float* x, size_t n, bool largest, int32_t* keys) {
  const uint32_t turn = largest ? 0 : ~uint32_t{0};
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) {
    const float plus_zero = x[i] + 0.0f;  // -0 becomes +0
    const uint32_t number = 0 - uint32_t(x[i] == x[i]);
    const uint32_t bits =
        (__builtin_bit_cast(uint32_t, plus_zero) & number) | (0x7fc00000 & ~number);
    keys[i] = int32_t((bits ^ ((0 - (bits >> 31)) >> 1)) ^ turn);
  }
}

size_t next_above(const int32_t* keys, size_t from, size_t n, int32_t bar) {
  for (; from + 16 <= n; from += 16) {
    int32_t above = 0;
    for (size_t j = 0; j < 16; ++j) above |= -int32_t(keys[from + j] > bar);
    if (above != 0) break;
  }
  return from;
}

}  // namespace sdx::SDX_ISA
