// Activations made of elementary functions: every line is one rounded operation, in the order that
// ONNX's own function bodies give them, so that the spelled-out subgraph and the operator agree to
// the bit.
#pragma once

#include "kernel/math/wide.h"

namespace sdx::lanes {

// x > 0 ? x : (x is NaN ? NaN : +0).
template <class F>
SDX_INLINE F relu(F x) {
  return select(is_nan(x), nan<F>(), select(x > F(0.0f), x, F(0.0f)));
}

// (0.5 x) (1 + erf(x / sqrt(2))). The quotient is x times the inverse of the root and one exactly
// rounded correction; where the correction would underflow, erf adds nothing to 1, and from 5.6 on,
// where erf is 1, a smaller x does as well.
template <class F>
SDX_INLINE F gelu(F x) {
  const F minus_root(-0x1.6a09e6p+0f), inverse(0x1.6a09e6p-1f);
  const F magnitude = min_raw(abs(x), F(5.65f));
  const F near = magnitude * inverse;
  const F quotient = fma(fma(near, minus_root, magnitude), inverse, near);
  const F phi = F(1.0f) + with_sign(erf_up_to_4(quotient), x);
  return canonical((F(0.5f) * x) * phi);
}
// (0.5 x) (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the cube as pow(x, 3) and the
// root as the float nearest to it, as exporters write it.
//
// pow(x, 3) is the cube in double, rounded; the square and the product with what each of them lost
// round to the same float for every magnitude up to 5.25, beyond which the hyperbolic tangent is 1.
// (A cube that underflows adds nothing to x.) All steps within are odd: the sign comes back last.
template <class F>
SDX_INLINE F gelu_tanh(F x) {
  const F m = min_raw(abs(x), F(5.25f)), minus_m = negate(m);
  const F square = m * m, minus_square_lost = fma(minus_m, m, square);
  const F product = square * m, minus_product_lost = fma(square, minus_m, product);
  const F cube = product - fma(minus_square_lost, m, minus_product_lost);
  const F inner = F(0x1.988454p-1f) * (m + F(0x1.6e4e26p-5f) * cube);  // at most 9.36
  return canonical((F(0.5f) * x) * (F(1.0f) + with_sign(tanh_up_to_9(inner), x)));
}

template <class F>
SDX_INLINE F mish(F x) {
  return canonical(x * tanh(softplus(x)));
}
template <class F>
SDX_INLINE F swish(F x, F alpha) {
  return canonical(x * sigmoid(alpha * x));
}
// swish with a factor of 1.
template <class F>
SDX_INLINE F silu(F x) {
  return canonical(x * sigmoid_of_number(x));
}
template <class F>
SDX_INLINE F softsign(F x) {
  return canonical(x / (F(1.0f) + abs(x)));
}
template <class F>
SDX_INLINE F leaky_relu(F x, F alpha) {
  return canonical(select(x < F(0.0f), alpha * x, x));
}
// alpha (e^x - 1) below 0; the difference is exact to its last place, unlike e^x rounded and then 1
// taken off.
template <class F>
SDX_INLINE F elu(F x, F alpha) {
  return canonical(select(x < F(0.0f), alpha * expm1(x), x));
}
template <class F>
SDX_INLINE F selu(F x, F alpha, F gamma) {
  return canonical(gamma * select(x > F(0.0f), x, alpha * expm1(x)));
}
// max(x, 0) + min(alpha (e^(x / alpha) - 1), 0).
template <class F>
SDX_INLINE F celu(F x, F alpha) {
  return canonical(max(x, F(0.0f)) + min(alpha * expm1(x / alpha), F(0.0f)));
}
// Between 0 and 1; a zero of either sign is +0, NaN gives a number.
template <class F>
SDX_INLINE F unit_bounded(F x) {
  return max_raw(min_raw(x, F(1.0f)), F(0.0f));
}
template <class F>
SDX_INLINE F hard_sigmoid(F x, F alpha, F beta) {
  const F line = alpha * x + beta;
  return select(is_nan(line), nan<F>(), unit_bounded(line));
}
// The line is NaN only where x is.
template <class F>
SDX_INLINE F hard_swish(F x) {
  return canonical(x * unit_bounded(F(0x1.555556p-3f) * x + F(0.5f)));
}
// x > alpha ? x : +0, so NaN gives +0, as ONNX's comparison and selection do.
template <class F>
SDX_INLINE F thresholded_relu(F x, F alpha) {
  return select(x > alpha, x, F(0.0f));
}
template <class F>
SDX_INLINE F clip(F x, F low, F high) {
  return min(max(x, low), high);
}
// -1, +0 (for both zeros) or 1; NaN for NaN.
template <class F>
SDX_INLINE F sign(F x) {
  const F s = select(x > F(0.0f), F(1.0f), select(x < F(0.0f), F(-1.0f), F(0.0f)));
  return select(is_nan(x), nan<F>(), s);
}
// The nearest value of float16 or bfloat16, ties to even, as a float.
template <class F>
SDX_INLINE F round_to_bf16(F x) {
  return from_bits(narrow_bf16(x) << 16);
}
template <class F>
SDX_INLINE F round_to_f16(F x) {
  return soft::widen_f16(soft::narrow_f16(x));
}

}  // namespace sdx::lanes
