// Hyperbolic functions, erf and the activations in double precision.
#include <limits>

#include "kernel/math/exp64.h"
#include "kernel/math/math.h"

namespace sdx::math {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

double magnitude(double x) { return x < 0 ? -x : x; }
double canonical(double x) { return x != x ? kNan : x; }
// y, which is positive, with the sign of x; zeros come back as they are.
double odd(double x, double y) { return x == 0 ? x : x < 0 ? -y : y; }

}  // namespace

double sinh(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a > 711) return odd(x, kInf);
  if (a > 40) {
    const ExpDd e = exp_dd({a, 0.0});
    return odd(x, scale(e.hi, e.n - 1));
  }
  // (e - 1/e) / 2 = (m + m / (m + 1)) / 2 with m = e - 1.
  const double m = expm1(a);
  return odd(x, 0.5 * (m + m / (m + 1.0)));
}

double cosh(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a > 711) return kInf;
  const ExpDd e = exp_dd({a, 0.0});
  const double half = scale(e.hi, e.n - 1);
  return a > 40 ? half : half + 0.25 / half;
}

double tanh(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a > 20) return odd(x, 1.0);
  const double m = expm1(2 * a);
  return odd(x, a < 0.5 ? m / (m + 2.0) : 1.0 - 2.0 / (m + 2.0));
}

double asinh(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a == kInf) return x;
  if (a > 0x1p28) {
    const Dd l = log_dd(a) + Dd{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    return odd(x, l.hi + l.lo);
  }
  const double s = a * a;
  return odd(x, log1p(a + s / (1.0 + __builtin_sqrt(1.0 + s))));
}

double acosh(double x) {
  if (!(x >= 1)) return kNan;
  if (x == kInf) return x;
  if (x > 0x1p28) {
    const Dd l = log_dd(x) + Dd{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    return l.hi + l.lo;
  }
  const double t = x - 1.0;
  return log1p(t + __builtin_sqrt(2 * t + t * t));
}

double atanh(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return odd(x, kInf);
  return odd(x, 0.5 * log1p(2 * a / (1.0 - a)));
}

// Below 1: x + x p(x^2). Above: 1 - e^(-x^2) g((x - 2) / (x + 2)), which is 1 from 6 on.
double erf(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a >= 6) return odd(x, 1.0);
  if (a < 1) {
    const double p = horner(x * x, 0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2,
                            0x1.ce2f21a042bdep-4, -0x1.b82ce312889c2p-6, 0x1.565bcd0e65189p-8,
                            -0x1.c02db3feeff68p-11, 0x1.f9a326c2d4538p-14, -0x1.f4d25629a4636p-17,
                            0x1.b9e651871c2dep-20, -0x1.5f6d9c735e28fp-23, 0x1.fc43ebed0080ep-27,
                            -0x1.4e63463ef0194p-30, 0x1.7f16abc25d168p-34, -0x1.29e0305647b30p-38);
    return x == 0 ? x : __builtin_fma(x, p, x);
  }
  const double g = horner((a - 2.0) / (a + 2.0), 0x1.058671b52c776p-2, -0x1.b57034efd3f72p-2,
                          0x1.eeea7dc8a78b4p-3, -0x1.437f0b68c0c2dp-4, 0x1.e94715979efd1p-9,
                          0x1.ca95ed534848cp-8, -0x1.bc25a47c0b4eap-11, -0x1.016b5ce85f14dp-10,
                          0x1.6d5ef984f6a18p-15, 0x1.6da96cf22568dp-13, 0x1.cdcbb248b6367p-16,
                          -0x1.cead45c6d05dcp-16, -0x1.d46ac89fcf83bp-17, 0x1.6e1e6732d6f3dp-20,
                          0x1.ed74d209f0365p-19, 0x1.4f1e69e87e339p-20);
  const ExpDd e = exp_dd(-exact_product(a, a));
  return odd(x, 1.0 - scale(e.hi, e.n) * g);
}

// The activations step by step as in activation.h.
double gelu(double x) { return canonical((0.5 * x) * (1.0 + erf(x / 0x1.6a09e667f3bcdp+0))); }
double gelu_tanh(double x) {
  const double inner = 0x1.9884533d43651p-1 * (x + 0.044715 * pow(x, 3.0));
  return canonical((0.5 * x) * (1.0 + tanh(inner)));
}
double mish(double x) { return canonical(x * tanh(softplus(x))); }

}  // namespace sdx::math
