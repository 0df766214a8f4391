// Half-precision numbers from doubles, rounded once to nearest, ties to even; and exactly back.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sardonyx::serve {

// A binary float of 1 sign bit, `exponent` bits and `mantissa` bits, from a double.
template <int exponent, int mantissa>
inline uint16_t narrow(double value) {
  constexpr int kBias = (1 << (exponent - 1)) - 1;
  constexpr uint16_t kInfinity = ((1 << exponent) - 1) << mantissa;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 1 << (exponent + mantissa) : 0);
  if (std::isnan(value)) return kInfinity | 1 << (mantissa - 1);
  const double size = std::fabs(value);
  if (size == 0) return sign;
  int power = 0;
  std::frexp(size, &power);  // size in [2^(power-1), 2^power)
  power = power - 1 < 1 - kBias ? 1 - kBias : power - 1;
  // In units of the last place; nearbyint rounds ties to even.
  const double units = std::nearbyint(std::ldexp(size, mantissa - power));
  if (std::isinf(size) || std::ldexp(units, power - mantissa) >= std::ldexp(1.0, kBias + 1)) {
    return sign | kInfinity;
  }
  const auto whole = static_cast<uint32_t>(units);
  // A subnormal's exponent field is 0; otherwise the leading unit carries into the field.
  const uint32_t field = static_cast<uint32_t>(power + kBias - 1) << mantissa;
  return static_cast<uint16_t>(sign | (whole < (1U << mantissa) ? whole : field + whole));
}
inline uint16_t half_of(double value) { return narrow<5, 10>(value); }
inline uint16_t bfloat_of(double value) { return narrow<8, 7>(value); }

template <int exponent, int mantissa>
inline float widen(uint16_t bits) {
  constexpr int kBias = (1 << (exponent - 1)) - 1;
  const int field = bits >> mantissa & ((1 << exponent) - 1);
  const int rest = bits & ((1 << mantissa) - 1);
  float size = 0;
  if (field == (1 << exponent) - 1) {
    size = rest != 0 ? std::nanf("") : HUGE_VALF;
  } else if (field == 0) {
    size = std::ldexp(static_cast<float>(rest), 1 - kBias - mantissa);
  } else {
    size = std::ldexp(static_cast<float>(rest + (1 << mantissa)), field - kBias - mantissa);
  }
  return bits >> (exponent + mantissa) & 1 ? -size : size;
}
inline float float_of_half(uint16_t bits) { return widen<5, 10>(bits); }
inline float float_of_bfloat(uint16_t bits) { return widen<8, 7>(bits); }

}  // namespace sardonyx::serve
