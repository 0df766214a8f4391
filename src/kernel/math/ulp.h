// How far a computed value lies from an exact one, for tests: in units of the exact value's last
// place.
#pragma once

#include <cmath>
#include <limits>

namespace sdx {

// `exact` is the true value or much closer to it than a float can be.
inline double ulp_error(float got, double exact) {
  const bool got_nan = got != got, exact_nan = exact != exact;
  if (got_nan || exact_nan) return got_nan && exact_nan ? 0.0 : HUGE_VAL;
  // Infinity stands at 2^128, the value after the greatest float, and so does all that lies beyond.
  if (std::fabs(exact) > 0x1p128) exact = std::copysign(0x1p128, exact);
  int exponent;
  std::frexp(exact, &exponent);
  if (exact == 0 || exponent < -125) exponent = -125;
  if (exponent > 128) exponent = 128;
  const double unit = std::ldexp(1.0, exponent - 24);
  const double value = std::isinf(got) ? std::copysign(0x1p128, double(got)) : double(got);
  return std::fabs(value - exact) / unit;
}

}  // namespace sdx
