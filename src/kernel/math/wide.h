// The other elementary functions of single precision: evaluated in double with sums and products
// (no fma, so that a machine without one is not slow) to about 2^-45 and rounded once, which leaves
// half a unit in the last place and a little.
#pragma once

#include "kernel/math/tanh.h"

namespace sdx {

// For |x| >= 2^20: the n (mod 4) and r with x = n pi/2 + r, |r| <= pi/4, of any finite double; r =
// hi + lo.
int reduce_half_pi(double x, double* hi, double* lo);

namespace lanes {

template <class D, class... C>
SDX_INLINE D polynomial64(D x, double c0, C... c) {
  if constexpr (sizeof...(c) == 0) {
    return D(c0);
  } else {
    return polynomial64(x, c...) * x + D(c0);
  }
}

// Adding 1.5 * 2^52 to a double rounds it to an integer that can be read off the low bits.
inline constexpr double kMagic64 = 0x1.8p52;

// e^x for |x| <= 700.
template <class D>
SDX_INLINE D exp64(D x) {
  using L = typename D::Int;
  const D shifted = x * D(0x1.71547652b82fep+0) + D(kMagic64);
  const D n = shifted - D(kMagic64);
  const D r = (x - n * D(0x1.62e42fefa3800p-1)) - n * D(0x1.ef35793c76730p-45);
  const D p = polynomial64(r, 0x1.0000000000000p+0, 0x1.0000000000020p+0, 0x1.000000000001cp-1,
                           0x1.555555554b00dp-3, 0x1.555555554c0cbp-5, 0x1.1111112ed3cd2p-7,
                           0x1.6c16c190c14bbp-10, 0x1.a01975a80a72cp-13, 0x1.a0197cbf4e294p-16,
                           0x1.72fe2a7db6271p-19, 0x1.28c57ed072182p-22);
  return p * from_bits((bits(shifted) + L(1023)) << 52);
}

// ln x for normal x > 0: x = 2^k m, m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m - 1) / (m + 1)).
template <class D>
SDX_INLINE D log64(D x) {
  using L = typename D::Int;
  const L one(0x3ff0000000000000);
  const L biased = shift_right_logical(bits(x) + L(0x3ff0000000000000 - 0x3fe6a09e667f3bcd), 52);
  const D m = from_bits(bits(x) - (biased << 52) + one);
  const D k = from_bits(biased | L(0x4330000000000000)) - D(0x1p52 + 1023);
  const D q = (m - D(1.0)) / (m + D(1.0));
  const D s = q * q;
  const D p = polynomial64(s, 0x1.5555555555594p-2, 0x1.999999997f417p-3, 0x1.249249428415fp-3,
                           0x1.c71c5189d513dp-4, 0x1.74665aa70d01bp-4, 0x1.399ec8149f2a6p-4,
                           0x1.2f248b8229239p-4);
  const D twice = q + q;
  return k * D(0x1.62e42fefa3800p-1) + (twice + (twice * (s * p) + k * D(0x1.ef35793c76730p-45)));
}

// ln(1 + u) for u > -1: the rounding of 1 + u is put back to first order.
template <class D>
SDX_INLINE D log1p64(D u) {
  const D w = u + D(1.0);
  return log64(w) + (u - (w - D(1.0))) / w;
}

template <class F>
SDX_INLINE F log(F x) {
  const F y = to_f32(log64(to_f64(x)));
  const F special = select(x == F(0.0f), F(-__builtin_inff()), select(x > F(0.0f), x, nan<F>()));
  return select((x > F(0.0f)) & (x < F(__builtin_inff())), y, special);
}

template <class F>
SDX_INLINE F log1p(F x) {
  const F y = to_f32(log1p64(to_f64(x)));
  const F special = select(x == F(-1.0f), F(-__builtin_inff()), select(x > F(-1.0f), x, nan<F>()));
  const F inside = select(x == F(0.0f), x, y);
  return select((x > F(-1.0f)) & (x < F(__builtin_inff())), inside, special);
}

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).
template <class F>
SDX_INLINE F softplus(F x) {
  using D = typename F::Wide;
  const F bounded = min_raw(abs(x), F(120.0f));
  const D tail = log1p64(exp64(D(0.0) - to_f64(bounded)));
  const F y = to_f32(to_f64(max_raw(x, F(0.0f))) + tail);
  return select(is_nan(x), nan<F>(), y);
}

// Sine and cosine of r in [-pi/4, pi/4].
template <class D>
SDX_INLINE D sin_core(D r) {
  const D s = r * r;
  const D p = polynomial64(s, -0x1.555555555241dp-3, 0x1.1111110ca4d1dp-7, -0x1.a019f95d8575dp-13,
                           0x1.71d77e734a984p-19, -0x1.a96763badd226p-26);
  return r + r * (s * p);
}
template <class D>
SDX_INLINE D cos_core(D r) {
  const D s = r * r;
  const D p = polynomial64(s, 0x1.55555555530fep-5, -0x1.6c16c16769c31p-10, 0x1.a019faa88ffebp-16,
                           -0x1.27e029cf065bbp-22, 0x1.1bc78efb95066p-29);
  return D(1.0) - (s * D(0.5) - s * (s * p));
}

// x = n pi/2 + r; the quadrant n is right in its last two bits. Infinities and NaN give a NaN r.
template <class F>
struct HalfPi {
  typename F::Wide r;
  typename F::Wide::Int n;
};
template <class F>
SDX_INLINE HalfPi<F> reduce(F x) {
  using D = typename F::Wide;
  using L = typename D::Int;
  const D wide = to_f64(x);
  const D shifted = wide * D(0x1.45f306dc9c883p-1) + D(kMagic64);
  const D n = shifted - D(kMagic64);
  HalfPi<F> out{(wide - n * D(0x1.921fb54400000p+0)) - n * D(0x1.0b4611a626331p-34), bits(shifted)};
  if (any(abs(x) >= F(0x1p20f))) {
    double values[F::kLanes], r[F::kLanes], lost;
    int64_t quadrant[F::kLanes];
    wide.store(values);
    out.r.store(r);
    out.n.store(quadrant);
    for (int i = 0; i < F::kLanes; ++i) {
      const double magnitude = values[i] < 0 ? -values[i] : values[i];
      if (magnitude >= 0x1p20 && magnitude < __builtin_inf()) {
        quadrant[i] = reduce_half_pi(values[i], &r[i], &lost);
      }
    }
    out = {D::load(r), L::load(quadrant)};
  }
  return out;
}

// Flips the sign of a where bit 1 of n is set.
template <class D, class L>
SDX_INLINE D flip(D a, L n) {
  return from_bits(bits(a) ^ (shift_right_logical(n, 1) << 63));
}

template <class F>
SDX_INLINE F sin(F x) {
  using L = typename F::Wide::Int;
  const auto a = reduce(x);
  const auto even = (a.n & L(1)) == L(0);
  const F y = to_f32(flip(select(even, sin_core(a.r), cos_core(a.r)), a.n));
  return canonical(select(x == F(0.0f), x, y));
}
template <class F>
SDX_INLINE F cos(F x) {
  using L = typename F::Wide::Int;
  const auto a = reduce(x);
  const auto even = (a.n & L(1)) == L(0);
  return canonical(to_f32(flip(select(even, cos_core(a.r), sin_core(a.r)), a.n + (a.n & L(1)))));
}
template <class F>
SDX_INLINE F tan(F x) {
  using D = typename F::Wide;
  using L = typename D::Int;
  const auto a = reduce(x);
  const auto even = (a.n & L(1)) == L(0);
  const D s = sin_core(a.r), c = cos_core(a.r);
  const F y = to_f32(select(even, s, D(0.0) - c) / select(even, c, s));
  return canonical(select(x == F(0.0f), x, y));
}

// Arcsine of d in [-1/2, 1/2], as d plus what follows.
template <class D>
SDX_INLINE D asin_core(D d) {
  const D s = d * d;
  const D p = polynomial64(s, 0x1.5555555541374p-3, 0x1.3333335113b2cp-4, 0x1.6db6cc1515ef5p-5,
                           0x1.f1cb00d778aefp-6, 0x1.6e435f5176b22p-6, 0x1.1f86785e4a88cp-6,
                           0x1.9b466b01db4d9p-7, 0x1.25d10b7a26197p-6, -0x1.e13759c73f905p-8,
                           0x1.025dfd527dbd7p-5);
  return d + d * (s * p);
}
inline constexpr double kHalfPi = 0x1.921fb54442d18p+0;

// For |x| > 1/2: asin |x| = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
template <class F>
SDX_INLINE F asin(F x) {
  using D = typename F::Wide;
  const D a = to_f64(abs(x));
  const auto large = a > D(0.5);
  const D core = asin_core(select(large, sqrt((D(1.0) - a) * D(0.5)), a));
  const F y = to_f32(select(large, D(kHalfPi) - (core + core), core));
  return canonical(with_sign(select(abs(x) <= F(1.0f), y, nan<F>()), x));
}
template <class F>
SDX_INLINE F acos(F x) {
  using D = typename F::Wide;
  const D wide = to_f64(x), a = to_f64(abs(x));
  const auto large = a > D(0.5);
  const D core = asin_core(select(large, sqrt((D(1.0) - a) * D(0.5)), wide));
  const D twice = core + core;
  const D y =
      select(large, select(wide > D(0.0), twice, D(2 * kHalfPi) - twice), D(kHalfPi) - core);
  return canonical(select(abs(x) <= F(1.0f), to_f32(y), nan<F>()));
}

// For |x| > 1: atan |x| = pi/2 - atan(1 / |x|).
template <class F>
SDX_INLINE F atan(F x) {
  using D = typename F::Wide;
  const D a = to_f64(abs(x));
  const auto large = a > D(1.0);
  const D t = select(large, D(1.0) / a, a);
  const D s = t * t;
  const D p = polynomial64(
      s, -0x1.555555554b51ap-2, 0x1.999999900d4e1p-3, -0x1.2492478a2325ep-3, 0x1.c71c2b7d0b167p-4,
      -0x1.745979cea1d0bp-4, 0x1.3af452f2e359ep-4, -0x1.1052c478c78a2p-4, 0x1.db50dcd19db0ap-5,
      -0x1.9969a427bd860p-5, 0x1.4ed9c4f896cdfp-5, -0x1.ec97a52ab997ep-6, 0x1.31b678bbbfcb7p-6,
      -0x1.2a686c40c193dp-7, 0x1.a4a7893a797edp-9, -0x1.77b8d5248b4a8p-11, 0x1.3ca9d7ebecad1p-14);
  const D core = t + t * (s * p);
  const F y = to_f32(select(large, D(kHalfPi) - core, core));
  return canonical(with_sign(y, x));
}

template <class F>
SDX_INLINE F sinh(F x) {
  using D = typename F::Wide;
  const D a = to_f64(min_raw(abs(x), F(120.0f)));
  const D s = a * a;
  const D p = polynomial64(s, 0x1.555555555546ep-3, 0x1.1111111122a28p-7, 0x1.a01a0183af53fp-13,
                           0x1.71de4f75257adp-19, 0x1.ae5477fa8094ep-26, 0x1.66ffbe2855a10p-33);
  const D e = exp64(a);
  const F y = to_f32(select(a < D(1.0), a + a * (s * p), (e - D(1.0) / e) * D(0.5)));
  return select(is_nan(x), nan<F>(), with_sign(y, x));
}
template <class F>
SDX_INLINE F cosh(F x) {
  using D = typename F::Wide;
  const D e = exp64(to_f64(min_raw(abs(x), F(120.0f))));
  return select(is_nan(x), nan<F>(), to_f32((e + D(1.0) / e) * D(0.5)));
}

// asinh a = ln(1 + a + a^2 / (1 + sqrt(1 + a^2))).
template <class F>
SDX_INLINE F asinh(F x) {
  using D = typename F::Wide;
  const D a = to_f64(abs(x));
  const D s = a * a;
  const F y = to_f32(log1p64(a + s / (D(1.0) + sqrt(D(1.0) + s))));
  const F finite = select(abs(x) < F(__builtin_inff()), y, F(__builtin_inff()));
  return select(is_nan(x), nan<F>(), with_sign(select(x == F(0.0f), F(0.0f), finite), x));
}
// acosh x = ln(1 + t + sqrt(2 t + t^2)), t = x - 1.
template <class F>
SDX_INLINE F acosh(F x) {
  using D = typename F::Wide;
  const D t = to_f64(x) - D(1.0);
  const F y = to_f32(log1p64(t + sqrt((t + t) + t * t)));
  const F finite = select(x < F(__builtin_inff()), y, x);
  return select(x > F(1.0f), finite, select(x == F(1.0f), F(0.0f), nan<F>()));
}
// atanh a = ln(1 + 2 a / (1 - a)) / 2.
template <class F>
SDX_INLINE F atanh(F x) {
  using D = typename F::Wide;
  const D a = to_f64(abs(x));
  const F y = to_f32(log1p64((a + a) / (D(1.0) - a)) * D(0.5));
  const F inside =
      select(abs(x) < F(1.0f), y, select(abs(x) == F(1.0f), F(__builtin_inff()), nan<F>()));
  return canonical(with_sign(select(x == F(0.0f), F(0.0f), inside), x));
}

// x^y = e^(y ln |x|) with the sign of an odd power. The powers 2, 3 and 1/2 are rounded from the
// exact square, from the cube in double and from the exact root, so that pow(x, 2) is x * x to the
// bit.
template <class F>
SDX_INLINE F pow(F x, F y) {
  using D = typename F::Wide;
  const F inf(__builtin_inff());
  const F a = abs(x);
  const auto zero = a == F(0.0f);
  const auto infinite = a == inf;
  const D wide = to_f64(x), wide_y = to_f64(y);
  if (all(y == F(3.0f))) return canonical(with_sign(to_f32(wide * wide * to_f64(a)), x));
  const D log = log64(to_f64(select(zero | infinite | is_nan(x), F(1.0f), a)));
  const D product = wide_y * log;
  const D bounded = max_raw(min_raw(product, D(200.0)), D(-200.0));
  const D general = exp64(bounded);
  const F whole = round_even(y);
  const auto integral = whole == y;
  // An even integer stays whole when halved; magnitudes of 2^24 and above are even.
  const F half = y * F(0.5f);
  const auto odd = integral & (round_even(half) != half);
  F magnitude = to_f32(general);
  const F grown = select(y > F(0.0f), inf, F(0.0f)), shrunk = select(y > F(0.0f), F(0.0f), inf);
  magnitude = select(infinite, grown, magnitude);
  magnitude = select(zero, shrunk, magnitude);
  const auto y_infinite = abs(y) == inf;
  const F limit = select(a == F(1.0f), F(1.0f), select(a > F(1.0f), grown, shrunk));
  magnitude = select(y_infinite, limit, magnitude);
  const D square = wide * wide;
  magnitude = select(y == F(2.0f), to_f32(square), magnitude);
  magnitude = select(y == F(3.0f), to_f32(square * to_f64(a)), magnitude);
  magnitude = select(y == F(0.5f), sqrt(a), magnitude);
  F r = select(odd, with_sign(magnitude, x), magnitude);
  const auto undefined = (x < F(0.0f)) & ~integral & ~infinite;
  r = select(undefined | is_nan(x) | is_nan(y), nan<F>(), r);
  return select((y == F(0.0f)) | (x == F(1.0f)), F(1.0f), r);
}

}  // namespace lanes
}  // namespace sdx
