// exp, expm1, sigmoid and erf in single precision: with tanh (tanh.h) the functions that sit in the
// inner loops of models.
//
// Each carries the part of its result that one float cannot hold to the last step and rounds there,
// so that the error stays close to half a unit in the last place (docs/numerics_bounds.md has the
// measured maxima over all 2^32 inputs).
#pragma once

#include "kernel/simd/generic.h"

namespace sdx::lanes {

// e^x = (hi + lo) * 2^n, hi in [0.7, 1.42], lo below half its last place: x = n ln 2 + r, e^r = 1 +
// r + r^2 q(r). For |x| <= 126.
template <class F>
struct ExpParts {
  F hi, lo;
  F n;        // an integer
  F shifted;  // n + 1.5 * 2^23, whose low bits are n
};
// 2^n, and a 2^n, for such an n from -126 to 127; a and the product are normal numbers.
template <class F>
SDX_INLINE F power_of_two(F shifted) {
  return from_bits((bits(shifted) << 23) + typename F::Int(127 << 23));
}
template <class F>
SDX_INLINE F times_power_of_two(F a, F shifted) {
  return from_bits(bits(a) + (bits(shifted) << 23));
}
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
  const F upper = fma(high, square, middle);
  const F low = fma(F(0x1.555556p-3f), r, F(0x1p-1f));
  const F q = fma(upper, square, low);
  const F first = F(1.0f) + r;
  const F exact = r - (first - F(1.0f));
  const F rest = fma(square, q, kTail ? exact + tail : exact);
  const F hi = first + rest;
  return {hi, rest - (hi - first), count, shifted};
}

// Most vectors hold nothing but numbers whose power is a normal number.
template <class F>
SDX_INLINE F exp(F x) {
  if (all(abs(x) <= F(87.0f))) {
    const auto e = exp_parts(x);
    return times_power_of_two(e.hi, e.shifted);
  }
  // Beyond these bounds the result is infinity or zero.
  const F bounded = max_raw(min_raw(x, F(89.0f)), F(-104.0f));
  const auto e = exp_parts(bounded);
  return select(is_nan(x), nan<F>(), ldexp(e.hi, e.n));
}

// e^x - 1, for x from -32 to 88.
template <class F>
SDX_INLINE F expm1_bounded(F x) {
  const auto e = exp_parts<true>(x);
  const F hi = times_power_of_two(e.hi, e.shifted), lo = e.lo * power_of_two(e.shifted);
  const F less = hi - F(1.0f);
  // What the subtraction lost, in the order that is exact for hi above and below 1.
  const F back = less - hi;
  const F lost = (hi - (less - back)) + (F(-1.0f) - back);
  return less + (lost + lo);
}

template <class F>
SDX_INLINE F expm1(F x) {
  const F y = expm1_bounded(max_raw(min_raw(x, F(88.0f)), F(-32.0f)));
  F kept = select(x == F(0.0f), x, y);
  if (any(x > F(88.0f))) kept = select(x > F(88.0f), exp(x), kept);
  return select(is_nan(x), nan<F>(), kept);
}

// 1 / (1 + e^-x) for -87 <= x < 0 as t / (1 + t) with t = e^x. Below -40 that is t to the last
// bit; what t leaves out would be subnormal there, and slow.
template <class F>
SDX_INLINE F sigmoid_far_below(F x) {
  const auto e = exp_parts(x);
  const F t = ldexp(e.hi, e.n), t_lo = ldexp(e.lo, max_raw(e.n, F(-60.0f)));
  const F below = F(1.0f) + t;
  const F below_lo = (t - (below - F(1.0f))) + t_lo;
  const F inverse = F(1.0f) / below;
  const F quotient = t * inverse;
  const F rest = fma(negate(quotient), below, t) + fma(negate(quotient), below_lo, t_lo);
  return select(x < F(-40.0f), t, fma(rest, inverse, quotient));
}

// For x = n ln 2 + r from -10 to 0, 1 / (1 + e^-x) is 2^n times a polynomial in the distance from a
// point near n ln 2, chosen so that p0, the value there, is nearly a float. Indexed by the low four
// bits of n.
struct SigmoidTable {
  static constexpr float point[16] = {
      0x0p+0f,         -0x1.4c99f2p+3f, -0x1.3678aap+3f, -0x1.20681p+3f,
      -0x1.0a489p+3f,  -0x1.e7e66p+2f,  -0x1.bb9f56p+2f, -0x1.8f2428p+2f,
      -0x1.62d0eep+2f, -0x1.367c6ep+2f, -0x1.0a3662p+2f, -0x1.bb921ap+1f,
      -0x1.62f90cp+1f, -0x1.0a16fap+1f, -0x1.62e54cp+0f, -0x1.62d62cp-1f};
  static constexpr float p0[16] = {0x1p-1f,        0x1.00de36p+0f, 0x1.007418p+0f, 0x1.ff05b4p-1f,
                                   0x1.fe0a54p-1f, 0x1.002d84p+0f, 0x1.ff6f58p-1f, 0x1.ffe43ep-1f,
                                   0x1.fe9af2p-1f, 0x1.fc6074p-1f, 0x1.f7c858p-1f, 0x1.f0a6p-1f,
                                   0x1.e197fep-1f, 0x1.c75c3p-1f,  0x1.99982ep-1f, 0x1.555b9p-1f};
  static constexpr float p1[16] = {0x1p-2f,        0x1.00dc34p+0f, 0x1.007014p+0f, 0x1.fef5c4p-1f,
                                   0x1.fdea94p-1f, 0x1.000d7ap+0f, 0x1.feefa2p-1f, 0x1.fee45ap-1f,
                                   0x1.fc9dbcp-1f, 0x1.f86ee6p-1f, 0x1.f0098ep-1f, 0x1.e197fp-1f,
                                   0x1.c54818p-1f, 0x1.94bca2p-1f, 0x1.47ad3cp-1f, 0x1.c7209ap-2f};
  static constexpr float p2[16] = {0x1.5c97e2p-23f, 0x1.00d82ap-1f, 0x1.00680ap-1f, 0x1.fed5ep-2f,
                                   0x1.fdab12p-2f,  0x1.ff9adp-2f,  0x1.fdf06ep-2f, 0x1.fce58ep-2f,
                                   0x1.f8a742p-2f,  0x1.f09b7p-2f,  0x1.e0c8f4p-2f, 0x1.c4658p-2f,
                                   0x1.8ffc86p-2f,  0x1.3abf04p-2f, 0x1.893724p-3f, 0x1.2f5feep-4f};
  static constexpr float p3[16] = {
      -0x1.5548b6p-6f, 0x1.56699ep-3f, 0x1.55c974p-3f, 0x1.5462ep-3f,
      0x1.53718ap-3f,  0x1.54660ap-3f, 0x1.52a0ccp-3f, 0x1.509bbep-3f,
      0x1.4b2e28p-3f,  0x1.40c1f6p-3f, 0x1.2ca88cp-3f, 0x1.0871cep-3f,
      0x1.93bdbap-4f,  0x1.b768p-5f,   0x1.175dcap-8f, -0x1.949ff6p-6f};
  static constexpr float p4[16] = {
      0x1.b09b6cp-16f, 0x1.56598p-5f,   0x1.55a36p-5f,   0x1.541136p-5f,
      0x1.52cafp-5f,   0x1.53155p-5f,   0x1.4ffe6ap-5f,  0x1.4b577p-5f,
      0x1.40c73p-5f,   0x1.2c7f36p-5f,  0x1.064c74p-5f,  0x1.86690ap-6f,
      0x1.6655b8p-7f,  -0x1.37ea64p-8f, -0x1.e24856p-7f, -0x1.51063cp-7f};
  static constexpr float p5[16] = {
      0x1.1fcc0ep-9f,  0x1.130e68p-7f,  0x1.125ae6p-7f, 0x1.10d642p-7f,
      0x1.0f4696p-7f,  0x1.0e616ap-7f,  0x1.09bc58p-7f, 0x1.01ad52p-7f,
      0x1.e1c1e2p-8f,  0x1.a1f5ep-8f,   0x1.2df18cp-8f, 0x1.b9ecfcp-10f,
      -0x1.22d60ap-9f, -0x1.55fe62p-8f, -0x1.f1f47p-9f, 0x1.fd842p-11f};
  static constexpr float p6[16] = {
      0x1.fe77d8p-13f,  0x1.6a3982p-10f,  0x1.697efcp-10f, 0x1.6808dcp-10f,
      0x1.652cd4p-10f,  0x1.5f9192p-10f,  0x1.54568ap-10f, 0x1.3e4c1p-10f,
      0x1.13a9b2p-10f,  0x1.883f4ep-11f,  0x1.d1288ep-13f, -0x1.235b7p-11f,
      -0x1.57dfd4p-10f, -0x1.36cbf6p-10f, 0x1.5837bp-12f,  0x1.1e69ep-10f};
};

// The entries for n from -7 to 0, by the low three bits of n: all that most vectors need. Where the
// whole table takes several instructions, they are looked up in this one.
constexpr EightFloats from_minus_7(const float (&t)[16]) {
  return {{t[0], t[9], t[10], t[11], t[12], t[13], t[14], t[15]}};
}
struct SigmoidNear {
  static constexpr float kLeast = -5.19f;  // above -7.5 ln 2
  using T = SigmoidTable;
  static constexpr EightFloats point = from_minus_7(T::point), p0 = from_minus_7(T::p0),
                               p1 = from_minus_7(T::p1), p2 = from_minus_7(T::p2),
                               p3 = from_minus_7(T::p3), p4 = from_minus_7(T::p4),
                               p5 = from_minus_7(T::p5), p6 = from_minus_7(T::p6);
};

// For z from -10 (kLeast of SigmoidNear) to 0; some number below.
template <class T, class F>
SDX_INLINE F sigmoid_by_table(F z) {
  const F shifted = fma(z, F(0x1.715476p+0f), F(0x1.8p23f));
  const auto at = bits(shifted);
  const F t = z - lookup(T::point, at);
  F p = fma(lookup(T::p6, at), t, lookup(T::p5, at));
  p = fma(p, t, lookup(T::p4, at));
  p = fma(p, t, lookup(T::p3, at));
  p = fma(p, t, lookup(T::p2, at));
  p = fma(p, t, lookup(T::p1, at));
  return times_power_of_two(fma(p, t, lookup(T::p0, at)), shifted);
}

// Where a table of eight is looked up at once: whether all lanes lie in it, and then the result. No
// lane is NaN then.
template <class F>
SDX_INLINE bool sigmoid_is_near(F x, [[maybe_unused]] F& y) {
  if constexpr (requires { lookup(SigmoidNear::p0, bits(x)); }) {
    const F below_0 = negative_magnitude(x);
    if (!all(below_0 > F(SigmoidNear::kLeast))) return false;
    const F below = sigmoid_by_table<SigmoidNear>(below_0);
    y = select_negative(x, below, F(1.0f) - below);
    return true;
  }
  return false;
}

// 1 / (1 + e^-x), for x > 0 as the difference from 1 of its value for -x. NaN gives a number.
//
// Below -87 it is 0. It would be less than 2^-125 there and soon subnormal, and so would x times
// it: a product that meets such numbers takes a hundred times as long on common machines.
template <class F>
SDX_INLINE F sigmoid_of_any(F x) {
  const F least(-87.0f);
  const F below_0 = negative_magnitude(x);
  const F z = max_raw(below_0, least);  // -87 for NaN, too
  F below = sigmoid_by_table<SigmoidTable>(z);
  const auto far = z < F(-10.0f);
  if (any(far)) {
    below = select(far, sigmoid_far_below(z), below);
    below = select(below_0 < least, F(0.0f), below);
  }
  return select_negative(x, below, F(1.0f) - below);
}
template <class F>
SDX_INLINE F sigmoid_of_number(F x) {
  F y;
  return sigmoid_is_near(x, y) ? y : sigmoid_of_any(x);
}
template <class F>
SDX_INLINE F sigmoid(F x) {
  F y;
  if (sigmoid_is_near(x, y)) return y;
  return select(is_nan(x), nan<F>(), sigmoid_of_any(x));
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

// The first eight intervals, in the way of SigmoidNear.
constexpr EightFloats first_eight(const float (&t)[16]) {
  return {{t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]}};
}
struct ErfNear {
  static constexpr float kMost = 1.99f;  // below 7.5 * 17/64
  using T = ErfTable;
  static constexpr EightFloats point = first_eight(T::point), start = first_eight(T::start),
                               p0 = first_eight(T::p0), p1 = first_eight(T::p1),
                               p2 = first_eight(T::p2), p3 = first_eight(T::p3),
                               p4 = first_eight(T::p4), p5 = first_eight(T::p5);
};

// The polynomial of an interval: p5 t^5 + ... + p0.
template <class T, class I, class F>
SDX_INLINE F polynomial(I interval, F t) {
  F p = fma(lookup(T::p5, interval), t, lookup(T::p4, interval));
  p = fma(p, t, lookup(T::p3, interval));
  p = fma(p, t, lookup(T::p2, interval));
  p = fma(p, t, lookup(T::p1, interval));
  p = fma(p, t, lookup(T::p0, interval));
  return p;
}

// For m from 0 to 4 (kMost of ErfNear).
template <class T, class F>
SDX_INLINE F erf_by_table(F m) {
  const auto interval = bits(fma(m, F(64.0f / 17.0f), F(0x1.8p23f)));
  const F t = m - lookup(T::point, interval);
  const F p = polynomial<T>(interval, t);
  const auto low = m < F(0x1.dcp-1f);  // the first four intervals
  return fma(select(low, m, t), p, select(low, m, lookup(T::start, interval)));
}
template <class F>
SDX_INLINE F erf_up_to_4(F m) {
  if constexpr (requires { lookup(ErfNear::p0, bits(m)); }) {
    if (all(m < F(ErfNear::kMost))) return erf_by_table<ErfNear>(m);
  }
  return erf_by_table<ErfTable>(m);
}

template <class F>
SDX_INLINE F erf(F x) {
  const F m = abs(x);
  if constexpr (requires { lookup(ErfNear::p0, bits(m)); }) {
    if (all(m < F(ErfNear::kMost))) return with_sign(erf_by_table<ErfNear>(m), x);
  }
  return select(is_nan(x), nan<F>(), with_sign(erf_by_table<ErfTable>(min_raw(m, F(4.0f))), x));
}

}  // namespace sdx::lanes
