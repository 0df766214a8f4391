// How a scaled sum becomes a byte: to the nearest integer, plus the zero point, saturated.
#pragma once

#include <cstdint>

namespace sdx::SDX_ISA {

inline constexpr float kFar = 0x1p20f;  // beyond it everything saturates

// The nearest integer of q, plus zero, in [low, low + 255]; NaN counts as 0.
[[gnu::always_inline]] inline uint8_t saturated(float q, int32_t zero, int32_t low) {
  // Up to kFar, adding and taking away 1.5 * 2^23 rounds half to even.
  constexpr float kMagic = 0x1.8p23f;
  q = q == q ? q : 0.0f;
  q = q < kFar ? q : kFar;
  q = q > -kFar ? q : -kFar;
  int32_t i = int32_t((q + kMagic) - kMagic) + zero;
  i = i > low ? i : low;
  return uint8_t(i < low + 255 ? i : low + 255);
}

}  // namespace sdx::SDX_ISA
