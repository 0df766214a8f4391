// Four products of bytes summed into each 32-bit lane, on arm64: lanes of signed bytes by one lane
// of four unsigned ones.
//
// There are three ways, and a machine has one, two or all of them. SUDOT (I8MM) takes the unsigned
// bytes as they are. SDOT wants signed ones: 128 is taken from each by flipping its top bit, and
// sums begin with 128 times the sums of the others. Without both, products have 16 bits; two of
// them may need 17, so they widen before they meet.
#pragma once

#if defined(SDX_ISA_neon)
#include <arm_neon.h>

#include "kernel/simd/soft.h"

namespace sdx::SDX_ISA {

// As assembly, for these instructions are no part of the level; only a machine that has them comes
// here.
struct MixedDot {
  static constexpr uint8_t kFlip = 0;
  template <int Lane>
  SDX_INLINE static int32x4_t add(int32x4_t sum, int8x16_t b, uint8x16_t a) {
    asm(".arch armv8.2-a+dotprod+i8mm\n\tsudot %0.4s, %1.16b, %2.4b[%c3]"
        : "+w"(sum)
        : "w"(b), "w"(a), "i"(Lane));
    return sum;
  }
};

struct SignedDot {
  static constexpr uint8_t kFlip = 0x80;
  template <int Lane>
  SDX_INLINE static int32x4_t add(int32x4_t sum, int8x16_t b, uint8x16_t a) {
    asm(".arch armv8.2-a+dotprod+i8mm\n\tsdot %0.4s, %1.16b, %2.4b[%c3]"
        : "+w"(sum)
        : "w"(b), "w"(a), "i"(Lane));
    return sum;
  }
};

struct WideDot {
  static constexpr uint8_t kFlip = 0x80;
  template <int Lane>
  SDX_INLINE static int32x4_t add(int32x4_t sum, int8x16_t b, uint8x16_t a) {
    const int8x16_t x = vreinterpretq_s8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(a), Lane));
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(b), vget_low_s8(x)));
    const int32x4_t high = vpaddlq_s16(vmull_high_s8(b, x));
    return vaddq_s32(sum, vpaddq_s32(low, high));
  }
};

// What a sum begins with, where b's bytes sum to `sums`.
template <class Dot>
SDX_INLINE int32x4_t first_sum(const int32_t* sums) {
  return Dot::kFlip == 0 ? vdupq_n_s32(0) : vshlq_n_s32(vld1q_s32(sums), 7);
}
template <class Dot>
SDX_INLINE uint8x16_t flipped(uint8x16_t a) {
  return Dot::kFlip == 0 ? a : veorq_u8(a, vdupq_n_u8(Dot::kFlip));
}

}  // namespace sdx::SDX_ISA
#endif
