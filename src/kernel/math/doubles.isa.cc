// The functions of exp64.cc, special64.cc and trig64.cc once more, operation by operation, for
// arguments that need none of their special cases: without a branch, so that each level's compiler
// makes vectors of them. The few other arguments go to the functions themselves.
#include "kernel/math/doubles.h"

#include <cstring>

#include "kernel/math/math.h"

namespace sdx::SDX_ISA {
namespace {

struct Dd {
  double hi, lo;
};
[[gnu::always_inline]] inline Dd fast_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
[[gnu::always_inline]] inline Dd exact_sum(double a, double b) {
  const double s = a + b, back = s - a;
  return {s, (a - (s - back)) + (b - back)};
}
[[gnu::always_inline]] inline Dd exact_product(double a, double b) {
  const double p = a * b;
  return {p, __builtin_fma(a, b, -p)};
}
[[gnu::always_inline]] inline Dd sum(Dd a, Dd b) {
  const Dd s = exact_sum(a.hi, b.hi), t = exact_sum(a.lo, b.lo);
  const Dd u = fast_sum(s.hi, s.lo + t.hi);
  return fast_sum(u.hi, u.lo + t.lo);
}
[[gnu::always_inline]] inline Dd product(Dd a, Dd b) {
  const Dd p = exact_product(a.hi, b.hi);
  return fast_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
[[gnu::always_inline]] inline Dd product(Dd a, double b) {
  const Dd p = exact_product(a.hi, b);
  return fast_sum(p.hi, __builtin_fma(a.lo, b, p.lo));
}
[[gnu::always_inline]] inline Dd plus(Dd a, double b) {
  const Dd s = exact_sum(a.hi, b);
  return fast_sum(s.hi, s.lo + a.lo);
}
[[gnu::always_inline]] inline Dd quotient(Dd a, Dd b) {
  const double q = a.hi / b.hi;
  const Dd back = product(b, q), r = sum(a, Dd{-back.hi, -back.lo});
  return fast_sum(q, r.hi / b.hi);
}
[[gnu::always_inline]] inline double horner(double, double c) { return c; }
template <class... C>
[[gnu::always_inline]] inline double horner(double x, double c0, C... c) {
  return __builtin_fma(horner(x, c...), x, c0);
}

[[gnu::always_inline]] inline uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
[[gnu::always_inline]] inline double number(uint64_t b) { return __builtin_bit_cast(double, b); }
// condition ? a : b, as bits: a choice between numbers may become a branch.
[[gnu::always_inline]] inline double choice(bool condition, double a, double b) {
  const uint64_t mask = 0 - uint64_t(condition);
  return number((bits(a) & mask) | (bits(b) & ~mask));
}
[[gnu::always_inline]] inline double with_sign(double magnitude, double sign) {
  constexpr uint64_t kSign = uint64_t(1) << 63;
  return number((bits(magnitude) & ~kSign) | (bits(sign) & kSign));
}

// A whole number n below 2^51, and n + 1.5 * 2^52, whose low bits are n.
constexpr double kMagic = 0x1.8p52;
[[gnu::always_inline]] inline double power_of_two(double shifted) {
  return number((bits(shifted) - bits(kMagic) + 1023) << 52);
}

struct Power {  // e^x = (hi + lo) 2^n
  double hi, lo, shifted;
};
[[gnu::always_inline]] inline Power power(Dd x) {
  const double shifted = x.hi * 0x1.71547652b82fep+0 + kMagic;
  const double n = shifted - kMagic;
  const double near = __builtin_fma(n, -0x1.62e42fefa3800p-1, x.hi);
  const Dd second = exact_product(n, -0x1.ef35793c76730p-45);
  const Dd both = exact_sum(near, second.hi);
  const double r = both.hi, tail = both.lo + (second.lo + x.lo);
  const double q = horner(r, 0x1.0000000000000p-1, 0x1.555555555555cp-3, 0x1.5555555555559p-5,
                          0x1.111111110ebbdp-7, 0x1.6c16c16c1485ep-10, 0x1.a01a01b3b42a7p-13,
                          0x1.a01a01aff15b1p-16, 0x1.71ddefa83c6b0p-19, 0x1.27e4c6d8fa158p-22,
                          0x1.af6ca741e4fc9p-26, 0x1.1f93cde007d91p-29);
  const Dd first = fast_sum(1.0, r);
  const Dd grown = fast_sum(first.hi, __builtin_fma(r * r, q, first.lo));
  const Dd e = fast_sum(grown.hi, __builtin_fma(tail, grown.hi, grown.lo));
  return {e.hi, e.lo, shifted};
}

// ln x for normal x > 0.
[[gnu::always_inline]] inline Dd logarithm(double x) {
  const uint64_t biased = (bits(x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)) >> 52;
  const double m = number(bits(x) - (biased << 52) + 0x3ff0000000000000);
  const double k = number(0x4330000000000000 + biased) - (0x1p52 + 1023.0);
  const bool low = m < 1.0;
  const Dd q = quotient(Dd{m - 1.0, 0.0}, fast_sum(choice(low, 1.0, m), choice(low, m, 1.0)));
  const Dd s = product(q, q);
  const double p = horner(s.hi, 0x1.9999999999996p-3, 0x1.249249249303ap-3, 0x1.c71c71c57ff22p-4,
                          0x1.745d18327c320p-4, 0x1.3b1362ae15efdp-4, 0x1.1120b679951cap-4,
                          0x1.de335926c27dap-5, 0x1.eb11a2ea8a547p-5);
  const Dd inner = product(s, plus(Dd{0x1.5555555555555p-2, 0x1.5555555555555p-56}, s.hi * p));
  const Dd twice = {2 * q.hi, 2 * q.lo};
  return sum(product(Dd{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}, k),
             sum(twice, product(twice, inner)));
}

// Each: which arguments are near, what they give, and the function for all others.
struct Exp {
  static bool near(double x) { return __builtin_fabs(x) < 690; }
  [[gnu::always_inline]] static double value(double x) {
    const Power e = power({x, 0.0});
    return e.hi * power_of_two(e.shifted);
  }
  static double any(double x) { return math::exp(x); }
};
struct Log {
  static bool near(double x) { return (x >= 0x1p-1022) & (x < __builtin_inf()); }
  [[gnu::always_inline]] static double value(double x) {
    const Dd l = logarithm(x);
    return l.hi + l.lo;
  }
  static double any(double x) { return math::log(x); }
};
struct Tanh {
  static bool near(double x) { return x == x; }
  [[gnu::always_inline]] static double value(double x) {
    const double a = __builtin_fabs(x), most = choice(a > 20, 20, a), twice = 2 * most;
    const Power e = power({twice, 0.0});
    const double scale = power_of_two(e.shifted);
    const Dd less = exact_sum(e.hi * scale, -1.0);
    const double grown = less.hi + (less.lo + e.lo * scale);
    const double m = choice(twice < 0x1p-54, twice, grown);
    const bool small = a < 0.5;
    const double q = choice(small, m, 2.0) / (m + 2.0);
    return with_sign(choice(a > 20, 1.0, choice(small, q, 1.0 - q)), x);
  }
  static double any(double x) { return math::tanh(x); }
};
struct Sigmoid {
  static bool near(double x) { return __builtin_fabs(x) < 690; }
  [[gnu::always_inline]] static double value(double x) {
    const double t = Exp::value(-__builtin_fabs(x));
    return choice(x < 0, t, 1.0) / (1.0 + t);
  }
  static double any(double x) { return math::sigmoid(x); }
};

struct Angle {
  Dd r;
  uint64_t n;
};
[[gnu::always_inline]] inline Angle reduce(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kMagic;
  const double n = shifted - kMagic;
  const Dd first = exact_sum(x - n * 0x1.921fb54400000p+0, -(n * 0x1.0b4611a600000p-34));
  const Dd rest = product(Dd{0x1.3198a2e037073p-69, 0x1.129024e088a68p-123}, n);
  return {sum(first, Dd{-rest.hi, -rest.lo}), bits(shifted)};
}
[[gnu::always_inline]] inline double sine(Dd r) {
  const double s = r.hi * r.hi;
  const double p = horner(s, -0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018aeap-13,
                          0x1.71de3a5339ef4p-19, -0x1.ae645298e9345p-26, 0x1.6120931ce1334p-33,
                          -0x1.aaa579f5d4aadp-41);
  return r.hi + __builtin_fma(r.hi * s, p, r.lo * (1.0 - 0.5 * s));
}
[[gnu::always_inline]] inline double cosine(Dd r) {
  const double s = r.hi * r.hi;
  const double p = horner(s, 0x1.5555555555555p-5, -0x1.6c16c16c16c10p-10, 0x1.a01a01a018de5p-16,
                          -0x1.27e4fb75fd23ep-22, 0x1.1eed8ca34ecf7p-29, -0x1.939337e10a1d7p-37,
                          0x1.aac585c6124d7p-45);
  const double half = 0.5 * s, first = 1.0 - half;
  return first + (((1.0 - first) - half) + (s * s * p - r.hi * r.lo));
}
// The sine of the angle `quarters` quarters of a turn further on.
[[gnu::always_inline]] inline double turned(double x, uint64_t quarters) {
  const Angle a = reduce(x);
  const uint64_t n = a.n + quarters, odd = 0 - (n & 1);
  return number(((bits(cosine(a.r)) & odd) | (bits(sine(a.r)) & ~odd)) ^ ((n & 2) << 62));
}
struct Sin {
  static bool near(double x) {
    return (__builtin_fabs(x) < 0x1p20) & (__builtin_fabs(x) >= 0x1p-27);
  }
  [[gnu::always_inline]] static double value(double x) { return turned(x, 0); }
  static double any(double x) { return math::sin(x); }
};
struct Cos {
  static bool near(double x) { return __builtin_fabs(x) < 0x1p20; }
  [[gnu::always_inline]] static double value(double x) { return turned(x, 1); }
  static double any(double x) { return math::cos(x); }
};

constexpr size_t kBlock = 64;  // arguments looked at together

template <class F>
void map(const double* x, double* y, size_t n) {
  double in[kBlock], made[kBlock];
  for (double& v : in) v = 1.0;
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t some = n - i < kBlock ? n - i : kBlock;
    std::memcpy(in, x + i, some * sizeof(double));
    uint64_t far = 0;
    for (size_t j = 0; j < kBlock; ++j) far |= uint64_t(!F::near(in[j]));
    for (size_t j = 0; j < kBlock; ++j) made[j] = F::value(in[j]);
    for (size_t j = 0; far != 0 && j < some; ++j) {
      if (!F::near(in[j])) made[j] = F::any(in[j]);
    }
    std::memcpy(y + i, made, some * sizeof(double));
  }
}

// x * x, and of NaN the one NaN.
double square(double x) { return choice(x == x, x * x, __builtin_nan("")); }

// Whether pow(x, y) is e^(y ln x) and neither overflows nor underflows; the square and the root are
// exact in other ways.
bool near_power(double x, double y) {
  const bool normal = (x >= 0x1p-1022) & (x < __builtin_inf()) & (x != 1);
  return normal & (y == y) & (y != 0) & (y != 2) & (y != 0.5) & (__builtin_fabs(y) < 0x1p60);
}

}  // namespace

void double_function(DoubleFunction f, const double* x, double* y, size_t n) {
  switch (f) {
    case DoubleFunction::exp:
      return map<Exp>(x, y, n);
    case DoubleFunction::log:
      return map<Log>(x, y, n);
    case DoubleFunction::tanh:
      return map<Tanh>(x, y, n);
    case DoubleFunction::sigmoid:
      return map<Sigmoid>(x, y, n);
    case DoubleFunction::sin:
      return map<Sin>(x, y, n);
    case DoubleFunction::cos:
      return map<Cos>(x, y, n);
  }
}

void double_power(const double* x, const double* y, size_t step, double* z, size_t n) {
  if (step == 0 && n != 0 && !near_power(3.0, *y)) {  // an exponent of its own for all
    const double exponent = *y;
    for (size_t i = 0; i < n; ++i) z[i] = exponent == 2 ? square(x[i]) : math::pow(x[i], exponent);
    return;
  }
  double base[kBlock], exponent[kBlock], made[kBlock];
  for (double& v : base) v = 3.0;
  for (double& v : exponent) v = step == 0 && n != 0 ? *y : 3.0;
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t some = n - i < kBlock ? n - i : kBlock;
    std::memcpy(base, x + i, some * sizeof(double));
    if (step != 0) std::memcpy(exponent, y + i, some * sizeof(double));
    uint64_t far[kBlock], any = 0;
    for (size_t j = 0; j < kBlock; ++j) {
      const Dd l = logarithm(base[j]);
      const double rough = l.hi * exponent[j];
      const Power e = power(product(l, exponent[j]));
      made[j] = e.hi * power_of_two(e.shifted);
      far[j] = uint64_t(!(near_power(base[j], exponent[j]) & (__builtin_fabs(rough) < 690)));
    }
    for (size_t j = 0; j < kBlock; ++j) any |= far[j];
    for (size_t j = 0; any != 0 && j < some; ++j) {
      if (far[j] != 0) made[j] = math::pow(base[j], exponent[j]);
    }
    std::memcpy(z + i, made, some * sizeof(double));
  }
}

}  // namespace sdx::SDX_ISA
