// Sine, cosine, tangent and their inverses in double precision.
#include <limits>

#include "kernel/math/dd.h"
#include "kernel/math/exp64.h"
#include "kernel/math/math.h"
#include "kernel/math/wide.h"

namespace sdx::math {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Dd kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

double magnitude(double x) { return x < 0 ? -x : x; }

// x = n pi/2 + r, |r| <= pi/4 and a little.
struct Angle {
  Dd r;
  int n;
};
Angle reduce(double x) {
  Angle out{};
  if (magnitude(x) >= 0x1p20) {
    out.n = reduce_half_pi(x, &out.r.hi, &out.r.lo);
    return out;
  }
  const double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  const double n = shifted - 0x1.8p52;
  // The first two parts of pi/2 have 33 bits, so that their products with n are exact.
  const Dd first = exact_sum(x - n * 0x1.921fb54400000p+0, -(n * 0x1.0b4611a600000p-34));
  out.r = first + -(Dd{0x1.3198a2e037073p-69, 0x1.129024e088a68p-123} * n);
  out.n = int(n) & 3;
  return out;
}

// sin(r + t) = sin r + t cos r, cos(r + t) = cos r - t sin r, to first order in t.
double sin_core(Dd r) {
  const double s = r.hi * r.hi;
  const double p = horner(s, -0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018aeap-13,
                          0x1.71de3a5339ef4p-19, -0x1.ae645298e9345p-26, 0x1.6120931ce1334p-33,
                          -0x1.aaa579f5d4aadp-41);
  return r.hi + __builtin_fma(r.hi * s, p, r.lo * (1.0 - 0.5 * s));
}
double cos_core(Dd r) {
  const double s = r.hi * r.hi;
  const double p = horner(s, 0x1.5555555555555p-5, -0x1.6c16c16c16c10p-10, 0x1.a01a01a018de5p-16,
                          -0x1.27e4fb75fd23ep-22, 0x1.1eed8ca34ecf7p-29, -0x1.939337e10a1d7p-37,
                          0x1.aac585c6124d7p-45);
  const double half = 0.5 * s;
  const double first = 1.0 - half;
  return first + (((1.0 - first) - half) + (s * s * p - r.hi * r.lo));
}

bool unusable(double x) { return x != x || magnitude(x) == kInf; }

}  // namespace

double sin(double x) {
  if (unusable(x)) return kNan;
  if (magnitude(x) < 0x1p-27) return x;
  const Angle a = reduce(x);
  const double v = a.n & 1 ? cos_core(a.r) : sin_core(a.r);
  return a.n & 2 ? -v : v;
}

double cos(double x) {
  if (unusable(x)) return kNan;
  const Angle a = reduce(x);
  const double v = a.n & 1 ? sin_core(a.r) : cos_core(a.r);
  return (a.n + 1) & 2 ? -v : v;
}

double tan(double x) {
  if (unusable(x)) return kNan;
  if (magnitude(x) < 0x1p-27) return x;
  const Angle a = reduce(x);
  const double s = sin_core(a.r), c = cos_core(a.r);
  return a.n & 1 ? -c / s : s / c;
}

namespace {

// asin of d in [0, 1/2], without d itself.
double asin_rest(double d) {
  const double s = d * d;
  return d * s *
         horner(s, 0x1.5555555555553p-3, 0x1.3333333333a5ep-4, 0x1.6db6db6d46dffp-5,
                0x1.f1c71ca8ffc7cp-6, 0x1.6e8b9ad9330c4p-6, 0x1.1c4f8770ff831p-6,
                0x1.c980aa09efe98p-7, 0x1.7ba648eef1e14p-7, 0x1.36b4bd0f517fbp-7,
                0x1.484dfab236555p-7, 0x1.558d31f405c95p-11, 0x1.97d8475413b26p-6,
                -0x1.add2db39913eap-6, 0x1.1401a92c46961p-5);
}
// asin(sqrt(z)) for z in [0, 1/4]: the root's own rounding is put back.
Dd asin_root(double z) {
  if (z == 0) return {0.0, 0.0};
  const double d = __builtin_sqrt(z);
  const double lost = -__builtin_fma(d, d, -z) / (d + d);
  return fast_sum(d, asin_rest(d) + lost);
}

}  // namespace

double asin(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return kNan;
  if (a < 0x1p-27) return x;
  double y;
  if (a <= 0.5) {
    y = a + asin_rest(a);
  } else {
    const Dd core = asin_root((1.0 - a) * 0.5);
    const Dd d = kHalfPi + Dd{-2 * core.hi, -2 * core.lo};
    y = d.hi + d.lo;
  }
  return x < 0 ? -y : y;
}

double acos(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return kNan;
  if (a <= 0.5) {
    const double rest = asin_rest(a);
    const Dd d = kHalfPi + (x < 0 ? Dd{a, rest} : Dd{-a, -rest});
    return d.hi + d.lo;
  }
  const Dd core = asin_root((1.0 - a) * 0.5);
  const Dd twice = {2 * core.hi, 2 * core.lo};
  if (x > 0) return twice.hi + twice.lo;
  const Dd d = Dd{2 * kHalfPi.hi, 2 * kHalfPi.lo} + -twice;
  return d.hi + d.lo;
}

// atan a = atan c + atan((a - c) / (1 + a c)), with the c that leaves an argument below 7/16.
double atan(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a < 0x1p-27) return x;
  Dd base = {0.0, 0.0}, t = {a, 0.0};
  if (a > 0x1p60) {
    base = kHalfPi;
    t = {0.0, 0.0};
  } else if (a >= 2.4375) {
    base = kHalfPi;
    t = Dd{-1.0, 0.0} / Dd{a, 0.0};
  } else if (a >= 1.1875) {
    base = {0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56};
    t = Dd{a - 1.5, 0.0} / (exact_product(1.5, a) + 1.0);
  } else if (a >= 0.6875) {
    base = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
    t = Dd{a - 1.0, 0.0} / exact_sum(a, 1.0);
  } else if (a >= 0.4375) {
    base = {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56};
    t = Dd{a - 0.5, 0.0} / (Dd{0.5 * a, 0.0} + 1.0);
  }
  const double s = t.hi * t.hi;
  const double p = horner(s, -0x1.5555555555552p-2, 0x1.9999999998fddp-3, -0x1.2492492445cb8p-3,
                          0x1.c71c71a1637f6p-4, -0x1.745d11cf5eae4p-4, 0x1.3b132fe3a2650p-4,
                          -0x1.11090d1fc79b6p-4, 0x1.e1330bfa26612p-5, -0x1.a9fdbb800e12ep-5,
                          0x1.6b261f0534869p-5, -0x1.05746f9566b4fp-5, 0x1.c0aa91793be6bp-7);
  const Dd core = fast_sum(t.hi, __builtin_fma(t.hi * s, p, t.lo));
  const Dd d = base + core;
  const double y = d.hi + d.lo;
  return x < 0 ? -y : y;
}

}  // namespace sdx::math
