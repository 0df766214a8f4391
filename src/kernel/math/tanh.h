// tanh in single precision, by a table of polynomials in the way of erf (fast.h).
#pragma once

#include "kernel/math/fast.h"

namespace sdx::lanes {

// tanh of a magnitude m up to 9.5 in fourteen intervals that grow with it: an octave of 1 + m / s
// has four, and s = 1.03125 puts every edge where the errors on both its sides are small. Each is
// start + t p(t), t the distance from a point chosen so that its tanh is nearly the float `start`;
// the first, up to 0.2578, is m + m p(m). From 9.28 on the result is 1. Indexed by the low four
// bits of 1 + m / s from its second digit on, whose first interval has number 12.
struct TanhTable {
  static constexpr float kPerScale = 0x1.f07c2p-1f;  // 1 / s
  static constexpr float point[16] = {
      0x1.4a0d42p+0f, 0x1.cdef72p+0f, 0x1.29118ep+1f, 0x1.6b08a2p+1f,
      0x1.ce1b56p+1f, 0x1.291634p+2f, 0x1.673c46p+2f, 0x1.ab77e6p+2f,
      0x1.0a2b24p+3f, 0x1.29p+3f,     0x0p+0f,        0x0p+0f,
      0x0p+0f,        0x1.8c00b6p-2f, 0x1.4a00fcp-1f, 0x1.cdf546p-1f};
  static constexpr float start[16] = {
      0x1.b7c62ep-1f, 0x1.e4ffb4p-1f, 0x1.f638b8p-1f, 0x1.fc7d6cp-1f,
      0x1.ff4062p-1f, 0x1.ffe7a6p-1f, 0x1.fffc82p-1f, 0x1.ffff96p-1f,
      0x1.fffffcp-1f, 0x1p+0f,        0x1p+0f,        0x1p+0f,
      0x0p+0f,        0x1.796008p-2f, 0x1.22ce8ap-1f, 0x1.6f4eb8p-1f};
  static constexpr float p0[16] = {
      0x1.0c86aap-2f,  0x1.a4a072p-4f,  0x1.35ec0ep-5f,  0x1.bfbfc4p-7f,
      0x1.7ef698p-9f,  0x1.859948p-12f, 0x1.bf0048p-15f, 0x1.a8026cp-18f,
      0x1.0059bp-22f,  0x0p+0f,         0x0p+0f,         0x0p+0f,
      0x1.0f953cp-27f, 0x1.ba768p-1f,   0x1.5ad3b4p-1f,  0x1.f0fd34p-2f};
  static constexpr float p1[16] = {
      -0x1.cd4ae2p-3f,  -0x1.8e71bep-4f,  -0x1.3000c4p-5f,  -0x1.bcadfp-7f,
      -0x1.7e6666p-9f,  -0x1.85861cp-12f, -0x1.bef2a8p-15f, -0x1.a7fcc4p-18f,
      -0x1.00ef12p-22f, 0x0p+0f,          0x0p+0f,          0x0p+0f,
      -0x1.ead582p-20f, -0x1.461f3ep-2f,  -0x1.89fba6p-2f,  -0x1.6489e8p-2f};
  static constexpr float p2[16] = {
      0x1.b27b3ap-4f,  0x1.da7f24p-5f,  0x1.85c7fp-6f,   0x1.245e6ap-7f,
      0x1.fbd13p-10f,  0x1.034684p-12f, 0x1.29b836p-15f, 0x1.1a5838p-18f,
      0x1.4f549cp-23f, 0x0p+0f,         0x0p+0f,         0x0p+0f,
      -0x1.554p-2f,    -0x1.5d934cp-3f, -0x1.dc7b8ep-8f, 0x1.687734p-4f};
  static constexpr float p3[16] = {
      -0x1.065ca8p-6f,  -0x1.6fa85ap-6f, -0x1.675a5ap-7f, -0x1.1c4b86p-8f,
      -0x1.f8f79p-11f,  -0x1.031dp-13f,  -0x1.2af27p-16f, -0x1.1ae97cp-19f,
      -0x1.463506p-24f, 0x0p+0f,         0x0p+0f,         0x0p+0f,
      -0x1.6674b8p-10f, 0x1.5a3b84p-3f,  0x1.0f232p-3f,   0x1.b19594p-5f};
  static constexpr float p4[16] = {
      -0x1.0b80b4p-6f, 0x1.08fe7p-8f,   0x1.e04446p-9f,  0x1.b0624ep-10f,
      0x1.a02c5p-12f,  0x1.b0db04p-15f, 0x1.ee646ap-18f, 0x1.d7f6fap-21f,
      0x1.410d46p-25f, 0x0p+0f,         0x0p+0f,         0x0p+0f,
      0x1.26b05ap-3f,  0x1.ca59bap-7f,  -0x1.d38e3cp-5f, -0x1.cd7b06p-5f};
  static constexpr float p5[16] = {
      0x1.c54c96p-7f,   0x1.72075p-10f,   -0x1.89cf8ap-11f, -0x1.fb106ap-12f,
      -0x1.0d707cp-13f, -0x1.1f4cfep-16f, -0x1.27916p-19f,  -0x1.2c5e14p-22f,
      -0x1.e85176p-27f, 0x0p+0f,          0x0p+0f,          0x0p+0f,
      -0x1.396dd6p-5f,  -0x1.15d586p-4f,  -0x1.533158p-6f,  0x1.e8e432p-7f};
};

// The first eight intervals by the low three bits, in the way of SigmoidNear.
constexpr EightFloats first_tanh(const float (&t)[16]) {
  return {{t[0], t[1], t[2], t[3], t[12], t[13], t[14], t[15]}};
}
struct TanhNear {
  static constexpr float kMost = 3.09f;  // below 3 s
  using T = TanhTable;
  static constexpr EightFloats point = first_tanh(T::point), start = first_tanh(T::start),
                               p0 = first_tanh(T::p0), p1 = first_tanh(T::p1),
                               p2 = first_tanh(T::p2), p3 = first_tanh(T::p3),
                               p4 = first_tanh(T::p4), p5 = first_tanh(T::p5);
};

template <class T, class F>
SDX_INLINE F tanh_by_table(F m) {
  const F place = fma(m, F(TanhTable::kPerScale), F(1.0f));
  const auto interval = shift_right_logical(bits(place), 21);
  const F t = m - lookup(T::point, interval);
  const F p = polynomial<T>(interval, t);
  return fma(t, p, select(place < F(1.25f), m, lookup(T::start, interval)));
}

// For m from 0 to 9.5.
template <class F>
SDX_INLINE F tanh_up_to_9(F m) {
  if constexpr (requires { lookup(TanhNear::p0, bits(m)); }) {
    if (all(m < F(TanhNear::kMost))) return tanh_by_table<TanhNear>(m);
  }
  return tanh_by_table<TanhTable>(m);
}

template <class F>
SDX_INLINE F tanh(F x) {
  const F m = abs(x);
  if constexpr (requires { lookup(TanhNear::p0, bits(m)); }) {
    if (all(m < F(TanhNear::kMost))) return with_sign(tanh_by_table<TanhNear>(m), x);
  }
  // NaN stays NaN: of two operands the second one is taken.
  return canonical(with_sign(tanh_by_table<TanhTable>(min_raw(F(9.5f), m)), x));
}

}  // namespace sdx::lanes
