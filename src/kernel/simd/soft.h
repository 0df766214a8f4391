// Operations that some machine lacks, from those that all have: templates over the lane types of
// scalar.h and f32x16.h.
#pragma once

#include <cstdint>

#define SDX_INLINE inline __attribute__((always_inline))

namespace sdx {

// A table of which each lane takes the element at the low three bits of its index.
struct alignas(32) EightFloats {
  float at[8];
};

namespace soft {

// a * b + c with one rounding. The product of two floats is exact in double, and the double sum
// rounds to the right float unless it stands exactly between two of them (its last 29 bits are
// 2^28) or the float is denormal. Then the sum is rounded to odd first (the last bit set if
// anything was lost), which keeps enough to round as if from the exact value.
template <class F>
SDX_INLINE F fma(F a, F b, F c) {
  using D = typename F::Wide;
  using L = typename D::Int;
  const D product = to_f64(a) * to_f64(b), addend = to_f64(c);
  const D sum = product + addend;
  const L s = bits(sum);
  const L magnitude = s & L(INT64_MAX);
  // Compared as doubles in [1, 2): not every machine compares 64-bit integers in vectors.
  const D last = from_bits((s & L(0x1fffffff)) | L(0x3ff0000000000000));
  const auto between = last == D(1.0 + 0x1p-24);
  const auto tiny = (from_bits(magnitude) < D(0x1p-126)) & (sum != D(0.0));
  if (__builtin_expect(!any(between | tiny), 1)) return to_f32(sum);

  const D back = sum - product;
  const D lost = (product - (sum - back)) + (addend - back);
  // A sum with an even last bit moves one step towards what was lost.
  const L step = L(1) - (shift_right_logical(s ^ bits(lost), 63) << 1);
  const L even = (s & L(1)) - L(1);
  // Both comparisons are false for the NaN that an infinite sum leaves here.
  const L moved = select((lost < D(0.0)) | (lost > D(0.0)), step & even, L(0));
  return to_f32(from_bits(s + moved));
}

template <class F>
SDX_INLINE F sign_of(F magnitude, F sign) {
  using I = typename F::Int;
  return from_bits((bits(magnitude) & I(0x7fffffff)) | (bits(sign) & I(int32_t(0x80000000))));
}

// Adding 2^23 to a magnitude below it leaves no room for a fraction, so the addition itself rounds.
template <class F>
SDX_INLINE F round_even(F a) {
  const F magnitude = from_bits(bits(a) & typename F::Int(0x7fffffff));
  const F rounded = (magnitude + F(0x1p23f)) - F(0x1p23f);
  return select(magnitude < F(0x1p23f), sign_of(rounded, a), a);
}
template <class F>
SDX_INLINE F floor(F a) {
  const F r = soft::round_even(a);
  return sign_of(select(r > a, r - F(1.0f), r), a);
}
template <class F>
SDX_INLINE F ceil(F a) {
  const F r = soft::round_even(a);
  return sign_of(select(r < a, r + F(1.0f), r), a);
}
template <class F>
SDX_INLINE F trunc(F a) {
  const F magnitude = from_bits(bits(a) & typename F::Int(0x7fffffff));
  return sign_of(soft::floor(magnitude), a);
}

// a * 2^n rounded once, for |a| <= 4 and -250 <= n <= 250, and |a| >= 2^-100 unless n is 0: the
// first product is then exact or so small that the second is zero.
template <class F, class I>
SDX_INLINE F ldexp(F a, I n) {
  const I half = n >> 1;
  const F first = from_bits((half + I(127)) << 23), second = from_bits(((n - half) + I(127)) << 23);
  return (a * first) * second;
}

// The float of a half in the low 16 bits of each lane. A half's exponent and fraction, moved to a
// float's places, stand for a value 2^112 too small; the product with 2^112 is exact and normalises
// half's denormals.
template <class I>
SDX_INLINE typename I::Float widen_f16(I h) {
  using F = typename I::Float;
  const I magnitude = (h & I(0x7fff)) << 13, sign = (h & I(0x8000)) << 16;
  const F finite = from_bits(magnitude) * F(0x1p112f);
  const I special = select((h & I(0x3ff)) == I(0), I(0x7f800000) | sign, I(0x7fc00000));
  return from_bits(select((h & I(0x7c00)) == I(0x7c00), special, bits(finite) | sign));
}

// The half nearest to each float, ties to even, in the low 16 bits.
template <class F>
SDX_INLINE typename F::Int narrow_f16(F a) {
  using I = typename F::Int;
  const I magnitude = bits(a) & I(0x7fffffff), sign = shift_right_logical(bits(a), 16) & I(0x8000);
  // Below 2^-14 a half has a fixed point of 2^-24: adding 0.5 makes a float's last bit stand there.
  const I tiny = bits(from_bits(magnitude) + F(0.5f)) - I(0x3f000000);
  const I odd = (magnitude >> 13) & I(1);
  const I normal = (magnitude + odd + I(0xfff - (112 << 23))) >> 13;
  I h = select(magnitude < I(113 << 23), tiny, normal);
  h = select(magnitude > I(0x477fefff), I(0x7c00), h);  // 65520 and above round to infinity
  return select(magnitude > I(0x7f800000), I(0x7e00), h | sign);
}

}  // namespace soft
}  // namespace sdx
