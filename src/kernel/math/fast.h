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
  typename F::Int n;
};
template <bool kTail = false, class F>
SDX_INLINE ExpParts<F> exp_parts(F x) {
  using I = typename F::Int;
  // Adding 1.5 * 2^23 rounds to an integer that can be read off the low bits.
  const F magic(0x1.8p23f);
  const F shifted = fma(x, F(0x1.715476p+0f), magic);
  const F count = shifted - magic;
  // ln 2 in two parts: n * first is exact within the fma, so r is lost only in its last place.
  const F near = fma(count, F(-0x1.62e4p-1f), x);
  const F r = fma(count, F(-0x1.7f7d1cp-20f), near);
  // What r lost; only a difference of e^x and 1 can tell.
  const F tail = kTail ? fma(count, F(-0x1.7f7d1cp-20f), near - r) : F(0.0f);
  const F q = polynomial(r, 0x1p-1f, 0x1.555556p-3f, 0x1.5554e4p-5f, 0x1.110feep-7f,
                         0x1.6d51f8p-10f, 0x1.a27378p-13f);
  const F first = F(1.0f) + r;
  const F exact = r - (first - F(1.0f));
  const F rest = fma(r * r, q, kTail ? exact + tail : exact);
  const F hi = first + rest;
  return {hi, rest - (hi - first), bits(shifted) - I(0x4b400000)};
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
  const F magnitude = abs(x);
  const auto e = exp_parts(negate(min_raw(magnitude, F(104.0f))));
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

// Below 0.95: x + x p(x^2); above: 1 - e^(q(|x|)), which is 1 from 3.95 on.
template <class F>
SDX_INLINE F erf(F x) {
  const F magnitude = abs(x);
  const F s = x * x;
  const F p = polynomial(s, 0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d5p-4f, -0x1.b7fe9p-6f,
                         0x1.542e0ep-8f, -0x1.a50aeap-11f, 0x1.4c33aep-14f);
  const F small = fma(x, p, x);

  const F bounded = min_raw(magnitude, F(3.95f));
  const F q = polynomial(bounded, 0x1.65db34p-13f, -0x1.21269ep+0f, -0x1.444b3p-1f, -0x1.bb56acp-4f,
                         0x1.9b1992p-6f, -0x1.10a92ep-8f, 0x1.c5462ep-12f, -0x1.5ebd1ap-16f);
  const auto e = exp_parts(q);
  const F hi = ldexp(e.hi, e.n), lo = ldexp(e.lo, e.n);
  const F large = F(1.0f) - hi;
  const F lost = (F(1.0f) - large) - hi;
  const F rounded = large + (lost - lo);
  return select(is_nan(x), nan<F>(), select(magnitude < F(0.95f), small, with_sign(rounded, x)));
}

}  // namespace sdx::lanes
