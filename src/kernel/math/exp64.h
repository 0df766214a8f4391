// The double-double logarithm and exponential that the functions of double precision share.
#pragma once

#include "kernel/math/dd.h"

namespace sdx {

// ln x for normal or denormal x > 0, to about 2^-68 of itself.
Dd log_dd(double x);

// e^(x.hi + x.lo) = (hi + lo) 2^n with hi in [0.7, 1.42], for |x.hi| < 2^20.
struct ExpDd {
  double hi, lo;
  int n;
};
ExpDd exp_dd(Dd x);

// a * 2^n rounded once, for |a| in [0.5, 2] and |n| <= 2000.
double scale(double a, int n);

inline double horner(double, double c) { return c; }
// c0 + c1 x + ..., each step one fma.
template <class... C>
double horner(double x, double c0, C... c) {
  return __builtin_fma(horner(x, c...), x, c0);
}

}  // namespace sdx
