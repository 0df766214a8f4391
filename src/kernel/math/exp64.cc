// exp, log, pow and their kin in double precision.
#include "kernel/math/exp64.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "kernel/math/math.h"

namespace sdx {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Dd kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

double power_of_two(int n) { return std::bit_cast<double>(uint64_t(n + 1023) << 52); }
double magnitude(double x) { return x < 0 ? -x : x; }

}  // namespace

// x = 2^k m, m in [sqrt(1/2), sqrt(2)); with q = (m - 1) / (m + 1), ln m = 2 q (1 + q^2 / 3 + q^4
// p(q^2)).
Dd log_dd(double x) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int biased = int((bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)) >> 52);
  const double m = std::bit_cast<double>(bits - (uint64_t(biased) << 52) + 0x3ff0000000000000);
  k += biased - 1023;
  const Dd q = Dd{m - 1.0, 0.0} / fast_sum(m < 1.0 ? 1.0 : m, m < 1.0 ? m : 1.0);
  const Dd s = q * q;
  const double p = horner(s.hi, 0x1.9999999999996p-3, 0x1.249249249303ap-3, 0x1.c71c71c57ff22p-4,
                          0x1.745d18327c320p-4, 0x1.3b1362ae15efdp-4, 0x1.1120b679951cap-4,
                          0x1.de335926c27dap-5, 0x1.eb11a2ea8a547p-5);
  const Dd inner = s * (Dd{0x1.5555555555555p-2, 0x1.5555555555555p-56} + s.hi * p);
  const Dd twice = {2 * q.hi, 2 * q.lo};
  return kLn2 * double(k) + (twice + twice * inner);
}

ExpDd exp_dd(Dd x) {
  const double shifted = x.hi * 0x1.71547652b82fep+0 + 0x1.8p52;
  const double n = shifted - 0x1.8p52;
  // n times the first part of ln 2 (42 bits) is exact for |n| < 2^11, and for more the result is 0
  // or infinite anyway.
  const double near = __builtin_fma(n, -0x1.62e42fefa3800p-1, x.hi);
  const Dd second = exact_product(n, -0x1.ef35793c76730p-45);
  const Dd sum = exact_sum(near, second.hi);
  const double r = sum.hi, tail = sum.lo + (second.lo + x.lo);
  const double q = horner(r, 0x1.0000000000000p-1, 0x1.555555555555cp-3, 0x1.5555555555559p-5,
                          0x1.111111110ebbdp-7, 0x1.6c16c16c1485ep-10, 0x1.a01a01b3b42a7p-13,
                          0x1.a01a01aff15b1p-16, 0x1.71ddefa83c6b0p-19, 0x1.27e4c6d8fa158p-22,
                          0x1.af6ca741e4fc9p-26, 0x1.1f93cde007d91p-29);
  // e^r = 1 + r + r^2 q, and e^(r + tail) = e^r + tail e^r.
  const Dd first = fast_sum(1.0, r);
  const Dd power = fast_sum(first.hi, __builtin_fma(r * r, q, first.lo));
  const Dd e = fast_sum(power.hi, __builtin_fma(tail, power.hi, power.lo));
  return {e.hi, e.lo, int(n)};
}

double scale(double a, int n) {
  // One exact product, then the one that may round.
  const int safe = n < -1000 ? -1000 : n > 1000 ? 1000 : n;
  const int left = n - safe;
  return left == 0  ? a * power_of_two(safe)
         : left < 0 ? (a * power_of_two(left)) * power_of_two(safe)
                    : (a * power_of_two(safe)) * power_of_two(left);
}

namespace math {

double exp(double x) {
  if (x != x) return kNan;
  if (x > 710) return kInf;
  if (x < -746) return 0.0;
  const ExpDd e = exp_dd({x, 0.0});
  return scale(e.hi, e.n);
}

double expm1(double x) {
  if (x != x) return kNan;
  if (x > 710) return kInf;
  if (x < -50) return -1.0;
  // Below 2^-54 the next term is less than half a unit.
  if (magnitude(x) < 0x1p-54) return x;
  const ExpDd e = exp_dd({x, 0.0});
  if (e.n > 60) return scale(e.hi, e.n);
  const double hi = scale(e.hi, e.n), lo = e.lo * power_of_two(e.n);
  const Dd less = exact_sum(hi, -1.0);
  return less.hi + (less.lo + lo);
}

double log(double x) {
  if (x != x || x < 0) return kNan;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  const Dd l = log_dd(x);
  return l.hi + l.lo;
}

double log1p(double x) {
  if (x != x || x < -1) return kNan;
  if (x == -1) return -kInf;
  if (x == kInf) return kInf;
  // Here x^3 / 3 is far below the last place.
  if (magnitude(x) < 0x1p-35) return __builtin_fma(-0.5 * x, x, x);
  // ln(w + lost) = ln w + lost / w to first order; the second is below 2^-106.
  const Dd w = exact_sum(1.0, x);
  const Dd l = log_dd(w.hi) + w.lo / w.hi;
  return l.hi + l.lo;
}

double sigmoid(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  if (a > 746) return x < 0 ? 0.0 : 1.0;
  const double t = exp(-a);
  return x < 0 ? t / (1.0 + t) : 1.0 / (1.0 + t);
}

double softplus(double x) {
  if (x != x) return kNan;
  return (x > 0 ? x : 0.0) + log1p(exp(-magnitude(x)));
}

namespace {

// Whether y is an integer, and whether an odd one.
struct Parity {
  bool integer, odd;
};
Parity parity(double y) {
  const double a = magnitude(y);
  if (a >= 0x1p53) return {true, false};
  const int64_t whole = int64_t(a);
  return {double(whole) == a, double(whole) == a && (whole & 1) != 0};
}

}  // namespace

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1.0;
  if (x != x || y != y) return kNan;
  const double a = magnitude(x);
  const Parity kind = parity(y);
  const bool negative = kind.odd && (std::bit_cast<uint64_t>(x) >> 63) != 0;
  const auto signed_result = [negative](double v) { return negative ? -v : v; };
  if (magnitude(y) == kInf) return a == 1 ? 1.0 : (a > 1) == (y > 0) ? kInf : 0.0;
  if (a == kInf) return signed_result(y > 0 ? kInf : 0.0);
  if (a == 0) return signed_result(y > 0 ? 0.0 : kInf);
  if (x < 0 && !kind.integer) return kNan;
  if (y == 2) return x * x;
  if (y == 0.5) return __builtin_sqrt(x);
  const Dd l = log_dd(a);
  // A first look in one double keeps the products below from overflowing.
  const double rough = l.hi * y;
  if (rough > 710) return signed_result(kInf);
  if (rough < -746) return signed_result(0.0);
  const ExpDd e = exp_dd(l * y);
  return signed_result(scale(e.hi, e.n));
}

}  // namespace math
}  // namespace sdx
