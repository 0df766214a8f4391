// Elementary functions with one answer on every machine: IEEE operations only, never libm.
//
// Single precision errs by less than one unit in the last place (docs/numerics_bounds.md), double
// by a few. Special values follow Annex F of C; a NaN result is always the canonical quiet NaN
// (0x7fc00000, 0x7ff8000000000000).
#pragma once

#include <cstdint>

namespace sdx::math {

// The functions of one argument, for lists: SDX_MATH_FUNCTIONS(X) expands X(name) for each.
// clang-format off
#define SDX_MATH_FUNCTIONS(X) \
  X(exp) \
  X(expm1) \
  X(log) \
  X(log1p) \
  X(sin) \
  X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) \
      X(sigmoid) X(softplus) X(gelu) X(gelu_tanh) X(mish)
// clang-format on

#define SDX_MATH_DECLARE(name) \
  float name(float x);         \
  double name(double x);
SDX_MATH_FUNCTIONS(SDX_MATH_DECLARE)
#undef SDX_MATH_DECLARE

float pow(float x, float y);
double pow(double x, double y);

// Exact remainders: with the sign of a, as in C, and with the sign of b, as in Python.
float fmod(float a, float b);
double fmod(double a, double b);
float floor_mod(float a, float b);
double floor_mod(double a, double b);

}  // namespace sdx::math
