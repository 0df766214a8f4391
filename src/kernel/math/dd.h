// Double-double: the unevaluated sum hi + lo of two doubles, about 104 bits.
#pragma once

namespace sdx {

struct Dd {
  double hi, lo;
};

// hi + lo = a + b exactly; fast_sum needs |a| >= |b| or a == 0.
inline Dd fast_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
inline Dd exact_sum(double a, double b) {
  const double s = a + b, back = s - a;
  return {s, (a - (s - back)) + (b - back)};
}
inline Dd exact_product(double a, double b) {
  const double p = a * b;
  return {p, __builtin_fma(a, b, -p)};
}

inline Dd operator+(Dd a, Dd b) {
  const Dd s = exact_sum(a.hi, b.hi), t = exact_sum(a.lo, b.lo);
  const Dd u = fast_sum(s.hi, s.lo + t.hi);
  return fast_sum(u.hi, u.lo + t.lo);
}
inline Dd operator+(Dd a, double b) {
  const Dd s = exact_sum(a.hi, b);
  return fast_sum(s.hi, s.lo + a.lo);
}
inline Dd operator-(Dd a) { return {-a.hi, -a.lo}; }
inline Dd operator*(Dd a, Dd b) {
  const Dd p = exact_product(a.hi, b.hi);
  return fast_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline Dd operator*(Dd a, double b) {
  const Dd p = exact_product(a.hi, b);
  return fast_sum(p.hi, __builtin_fma(a.lo, b, p.lo));
}
inline Dd operator/(Dd a, Dd b) {
  const double q = a.hi / b.hi;
  const Dd r = a + -(b * q);
  return fast_sum(q, r.hi / b.hi);
}

}  // namespace sdx
