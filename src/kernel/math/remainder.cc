// fmod by long division of the significands: the remainder of two floats is always a float, so
// there is one answer.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernel/math/math.h"

namespace sdx::math {
namespace {

// |a| = significand * 2^exponent.
template <class U>
struct Split {
  U significand;
  int exponent;
};
template <class T, class U, int kFraction>
Split<U> split(U magnitude) {
  const U fraction = magnitude & ((U(1) << kFraction) - 1);
  const int exponent = int(magnitude >> kFraction);
  return exponent == 0 ? Split<U>{fraction, 1} : Split<U>{fraction | U(1) << kFraction, exponent};
}

template <class T, class U, int kFraction>
T remainder(T a, T b) {
  constexpr U kSign = U(1) << (sizeof(U) * 8 - 1);
  const U sign = std::bit_cast<U>(a) & kSign;
  const U x = std::bit_cast<U>(a) & ~kSign, y = std::bit_cast<U>(b) & ~kSign;
  const U inf = std::bit_cast<U>(std::numeric_limits<T>::infinity());
  if (x >= inf || y > inf || y == 0) return std::numeric_limits<T>::quiet_NaN();
  if (x < y) return a;

  const auto num = split<T, U, kFraction>(x), den = split<T, U, kFraction>(y);
  uint64_t rest = num.significand % den.significand;
  constexpr int kStep = 63 - kFraction;
  for (int left = num.exponent - den.exponent; left > 0; left -= kStep) {
    rest = (rest << (left < kStep ? left : kStep)) % den.significand;
  }
  if (rest == 0) return std::bit_cast<T>(sign);
  // The rest has the scale of b; shift it up to a normal significand while the exponent allows.
  const int up = std::countl_zero(rest) - (63 - kFraction);
  const int shift = up < den.exponent - 1 ? up : den.exponent - 1;
  const U significand = U(rest << shift);
  const int exponent = den.exponent - shift;
  const bool normal = (significand >> kFraction) != 0;
  const U magnitude =
      normal ? (U(exponent) << kFraction) + (significand - (U(1) << kFraction)) : significand;
  return std::bit_cast<T>(magnitude | sign);
}

template <class T>
T towards_divisor(T rest, T b) {
  if (rest == 0) return std::copysign(T(0), b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

float fmod(float a, float b) { return remainder<float, uint32_t, 23>(a, b); }
double fmod(double a, double b) { return remainder<double, uint64_t, 52>(a, b); }
float floor_mod(float a, float b) {
  const float rest = fmod(a, b);
  return rest != rest ? rest : towards_divisor(rest, b);
}
double floor_mod(double a, double b) {
  const double rest = fmod(a, b);
  return rest != rest ? rest : towards_divisor(rest, b);
}

}  // namespace sdx::math
