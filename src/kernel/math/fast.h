// exp, expm1, tanh, sigmoid and erf in single precision: the functions that sit in the inner loops
// of models.
//
// Each carries the part of its result that one float cannot hold to the last step and rounds there,
// so that the error stays close to half a unit in the last place (docs/numerics_bounds.md has the
// measured maxima over all 2^32 inputs).
#pragma once

#include "kernel/simd/generic.h"

namespace sdx::lanes {

// c[0] + c[1] x + ... by Horner's rule, each step one fma.
template <class F, class... C>
SDX_INLINE F polynomial(F x, float c0, C... c) {
  if constexpr (sizeof...(c) == 0) {
    return F(c0);
  } else {
    return fma(polynomial(x, c...), x, F(c0));
  }
}

// e^x = (hi + lo) * 2^n, hi in [0.7, 1.42], lo below half its last place: x = n ln 2 + r, e^r = 1 +
// r + r^2 q(r). For |x| <= 126.
template <class F>
struct ExpParts {
  F hi, lo;
  F n;  // an integer
};
template <bool kTail = false, class F>
SDX_INLINE ExpParts<F> exp_parts(F x) {
  // Adding 1.5 * 2^23 and taking it off rounds to an integer.
  const F magic(0x1.8p23f);
  const F shifted = fma(x, F(0x1.715476p+0f), magic);
  const F count = shifted - magic;
  // ln 2 in two parts: n * first is exact within the fma, so r is lost only in its last place.
  const F near = fma(count, F(-0x1.62e4p-1f), x);
  const F r = fma(count, F(-0x1.7f7d1cp-20f), near);
  // What r lost; only a difference of e^x and 1 can tell.
  const F tail = kTail ? fma(count, F(-0x1.7f7d1cp-20f), near - r) : F(0.0f);
  // q in pairs, which wait for each other less than Horner's rule.
  const F square = r * r;
  const F high = fma(F(0x1.a27378p-13f), r, F(0x1.6d51f8p-10f));
  const F middle = fma(F(0x1.110feep-7f), r, F(0x1.5554e4p-5f));
  const F low = fma(F(0x1.555556p-3f), r, F(0x1p-1f));
  const F q = fma(fma(high, square, middle), square, low);
  const F first = F(1.0f) + r;
  const F exact = r - (first - F(1.0f));
  const F rest = fma(square, q, kTail ? exact + tail : exact);
  const F hi = first + rest;
  return {hi, rest - (hi - first), count};
}

template <class F>
SDX_INLINE F exp(F x) {
  // Beyond these bounds the result is infinity or zero.
  const F bounded = max_raw(min_raw(x, F(89.0f)), F(-104.0f));
  const auto e = exp_parts(bounded);
  return select(is_nan(x), nan<F>(), ldexp(e.hi, e.n));
}

// e^x - 1, for x <= 88.
template <class F>
SDX_INLINE F expm1_bounded(F x) {
  const auto e = exp_parts<true>(x);
  const F hi = ldexp(e.hi, e.n), lo = ldexp(e.lo, e.n);
  const F less = hi - F(1.0f);
  // What the subtraction lost, in the order that is exact for hi above and below 1.
  const F back = less - hi;
  const F lost = (hi - (less - back)) + (F(-1.0f) - back);
  return less + (lost + lo);
}

template <class F>
SDX_INLINE F expm1(F x) {
  const F y = expm1_bounded(max_raw(min_raw(x, F(88.0f)), F(-32.0f)));
  const F kept = select(x == F(0.0f), x, y);
  return select(is_nan(x), nan<F>(), select(x > F(88.0f), exp(x), kept));
}

// 1 / (1 + e^-x). With t = e^-|x| it is 1 / (1 + t) for x >= 0 and t / (1 + t) below, so nothing
// overflows.
template <class F>
SDX_INLINE F sigmoid(F x) {
  const auto e = exp_parts(max_raw(negative_magnitude(x), F(-104.0f)));
  const F t = ldexp(e.hi, e.n), t_lo = ldexp(e.lo, e.n);
  const F below = F(1.0f) + t;
  const F below_lo = (t - (below - F(1.0f))) + t_lo;
  const auto negative = x < F(0.0f);
  const F above = select(negative, t, F(1.0f)), above_lo = select(negative, t_lo, F(0.0f));
  const F inverse = F(1.0f) / below;
  const F quotient = above * inverse;
  const F rest = fma(negate(quotient), below, above) + fma(negate(quotient), below_lo, above_lo);
  return select(is_nan(x), nan<F>(), fma(rest, inverse, quotient));
}

// Below 0.6: x + x^3 p(x^2); above: 1 - 2 / (e^2|x| + 1).
template <class F>
SDX_INLINE F tanh(F x) {
  const F magnitude = abs(x);
  const F s = x * x;
  const F p = polynomial(s, -0x1.555554p-2f, 0x1.111086p-3f, -0x1.b9f592p-5f, 0x1.63e038p-6f,
                         -0x1.0dc16p-7f, 0x1.201034p-9f);
  const F small = fma(magnitude * s, p, magnitude);

  const F bounded = min_raw(magnitude, F(10.0f));
  const auto e = exp_parts(bounded + bounded);
  const F hi = ldexp(e.hi, e.n), lo = ldexp(e.lo, e.n);
  const F below = hi + F(1.0f);
  const F below_lo = (F(1.0f) - (below - hi)) + lo;
  const F half = F(1.0f) / below;
  const F q = half + half;
  const F rest = fma(negate(q), below_lo, fma(negate(q), below, F(2.0f))) * half;
  const F large = F(1.0f) - q;
  const F lost = (F(1.0f) - large) - q;
  const F rounded = large + (lost - rest);
  return select(is_nan(x), nan<F>(), with_sign(select(magnitude < F(0.6f), small, rounded), x));
}

// The magnitude of erf in sixteen intervals of 17/64 about multiples of it, a polynomial in t, the
// distance from a point within: up to 0.93 it is m + m p(t); above, start + t p(t), where the point
// is chosen so that its erf is nearly the float `start`. From 3.93 on the result is 1.
struct ErfTable {
  static constexpr float point[16] = {
      0x0p+0f,        0x1.1p-2f,      0x1.1p-1f,      0x1.98p-1f,
      0x1.1008e6p+0f, 0x1.53fe28p+0f, 0x1.97fe6ap+0f, 0x1.dbfe1p+0f,
      0x1.0fff16p+1f, 0x1.32024ap+1f, 0x1.53fb84p+1f, 0x1.75ff6ep+1f,
      0x1.97fb3ap+1f, 0x1.ba816cp+1f, 0x1.df38dp+1f,  0x1.ea8f96p+1f};
  static constexpr float start[16] = {
      0x0p+0f,        0x0p+0f,        0x0p+0f,        0x0p+0f,
      0x1.bbf58ep-1f, 0x1.e11988p-1f, 0x1.f39b7ap-1f, 0x1.fb9f3cp-1f,
      0x1.fea416p-1f, 0x1.ffa152p-1f, 0x1.ffe966p-1f, 0x1.fffb4ap-1f,
      0x1.ffff24p-1f, 0x1.ffffdep-1f, 0x1.fffffcp-1f, 0x1.fffffep-1f};
  static constexpr float p0[16] = {
      0x1.06eba8p-3f,  0x1.a3673cp-4f,  0x1.f608fp-6f,   -0x1.231fb4p-4f,
      0x1.758d82p-2f,  0x1.8c0ec6p-3f,  0x1.6c8598p-4f,  0x1.2359f6p-5f,
      0x1.946e94p-7f,  0x1.e74a9cp-9f,  0x1.fea0d2p-11f, 0x1.cfe0c4p-13f,
      0x1.6e7a92p-15f, 0x1.e87442p-18f, 0x1.ef456ap-21f, 0x1.fa4686p-22f};
  static constexpr float p1[16] = {
      0x0p+0f,          -0x1.88547ep-3f,  -0x1.5a6e46p-2f,  -0x1.a94b18p-2f,
      -0x1.8cf356p-2f,  -0x1.070062p-2f,  -0x1.227954p-3f,  -0x1.0edc88p-4f,
      -0x1.adb40cp-6f,  -0x1.233dc6p-7f,  -0x1.53125p-9f,   -0x1.52d8a4p-11f,
      -0x1.240632p-13f, -0x1.a6281cp-16f, -0x1.cf94ecp-19f, -0x1.e4fd48p-20f};
  static constexpr float p2[16] = {
      -0x1.81260cp-2f, -0x1.523cdep-2f, -0x1.b6766ap-3f, -0x1.3a759cp-4f,
      0x1.3960f6p-3f,  0x1.4db3dep-3f,  0x1.efbea8p-4f,  0x1.1f31f2p-4f,
      0x1.0eab52p-5f,  0x1.a79218p-7f,  0x1.16eb8cp-8f,  0x1.36ab82p-10f,
      0x1.26f3b2p-12f, 0x1.d20442p-15f, 0x1.16e428p-17f, 0x1.2a8db6p-18f};
  static constexpr float p3[16] = {
      0x0p+0f,          0x1.c35caep-4f,   0x1.5d175ap-3f,   0x1.4f9ec4p-3f,
      0x1.88850cp-5f,   -0x1.7211c8p-6f,  -0x1.92c634p-5f,  -0x1.616a66p-5f,
      -0x1.afeda2p-6f,  -0x1.993cf4p-7f,  -0x1.39ebb8p-8f,  -0x1.8d6b1p-10f,
      -0x1.a56fb4p-12f, -0x1.6f8494p-14f, -0x1.e2042ap-17f, -0x1.04d7e8p-17f};
  static constexpr float p4[16] = {
      0x1.cb48ap-4f,   0x1.5f0b0ep-4f,  0x1.933192p-6f,  -0x1.0cd69ap-5f,
      -0x1.0e172ap-4f, -0x1.2e1222p-5f, -0x1.4fc85ap-8f, 0x1.65b3fep-7f,
      0x1.97d538p-7f,  0x1.086f38p-7f,  0x1.f60efep-9f,  0x1.7697d4p-10f,
      0x1.c6cecep-12f, 0x1.be69e6p-14f, 0x1.4516fcp-16f, 0x1.3ecbd2p-17f};
  static constexpr float p5[16] = {
      0x0p+0f,          -0x1.321aap-5f,   -0x1.961728p-5f,  -0x1.11ac24p-5f,
      0x1.5954a6p-7f,   0x1.6c161ap-6f,   0x1.019684p-6f,   0x1.3361f4p-8f,
      -0x1.d3dc98p-10f, -0x1.93f9bcp-9f,  -0x1.12eceap-9f,  -0x1.0094a6p-10f,
      -0x1.6ef4fep-12f, -0x1.a2f9fep-14f, -0x1.822834p-16f, -0x1.a77474p-18f};
};

// For a magnitude or NaN, which gives 1.
template <class F>
SDX_INLINE F erf_of_magnitude(F magnitude) {
  using T = ErfTable;
  const F m = min_raw(magnitude, F(4.0f));
  const auto interval = bits(fma(m, F(64.0f / 17.0f), F(0x1.8p23f)));
  const F t = m - lookup(T::point, interval);
  F p = fma(lookup(T::p5, interval), t, lookup(T::p4, interval));
  p = fma(p, t, lookup(T::p3, interval));
  p = fma(p, t, lookup(T::p2, interval));
  p = fma(p, t, lookup(T::p1, interval));
  p = fma(p, t, lookup(T::p0, interval));
  using I = typename F::Int;
  const auto low = (interval & I(12)) == I(0);  // the first four
  return fma(select(low, m, t), p, select(low, m, lookup(T::start, interval)));
}

template <class F>
SDX_INLINE F erf(F x) {
  return select(is_nan(x), nan<F>(), with_sign(erf_of_magnitude(abs(x)), x));
}

}  // namespace sdx::lanes
