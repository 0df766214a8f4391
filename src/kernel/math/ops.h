// The element-wise operations of single precision, by name: what the element-wise engine, its array
// kernels (kernel/elementwise) and the scalar references speak of.
//
// Every NaN result is the canonical quiet NaN. relu(x) = x > 0 ? x : (x is NaN ? NaN : +0). min and
// max are NaN if either operand is, and take -0 to be less than +0. round goes to the nearest
// integer, halves to even. sign(NaN) = NaN, sign(-0) = sign(+0) = +0. fmod has the sign of a,
// floor_mod that of b; both are exact.
#pragma once

namespace sdx {

// X(name, value) with x the element and p, q the two parameters.
#define SDX_UNARY_OPS(X)                      \
  X(abs, canonical(abs(x)))                   \
  X(neg, canonical(negate(x)))                \
  X(exp, exp(x))                              \
  X(expm1, expm1(x))                          \
  X(log, log(x))                              \
  X(log1p, log1p(x))                          \
  X(sqrt, canonical(sqrt(x)))                 \
  X(reciprocal, canonical(F(1.0f) / x))       \
  X(floor, canonical(floor(x)))               \
  X(ceil, canonical(ceil(x)))                 \
  X(round, canonical(round_even(x)))          \
  X(trunc, canonical(trunc(x)))               \
  X(sign, sign(x))                            \
  X(relu, relu(x))                            \
  X(leaky_relu, leaky_relu(x, p))             \
  X(elu, elu(x, p))                           \
  X(selu, selu(x, p, q))                      \
  X(celu, celu(x, p))                         \
  X(sigmoid, sigmoid(x))                      \
  X(hard_sigmoid, hard_sigmoid(x, p, q))      \
  X(hard_swish, hard_swish(x))                \
  X(tanh, tanh(x))                            \
  X(erf, erf(x))                              \
  X(gelu, gelu(x))                            \
  X(gelu_tanh, gelu_tanh(x))                  \
  X(softplus, softplus(x))                    \
  X(softsign, softsign(x))                    \
  X(sin, sin(x))                              \
  X(cos, cos(x))                              \
  X(tan, tan(x))                              \
  X(asin, asin(x))                            \
  X(acos, acos(x))                            \
  X(atan, atan(x))                            \
  X(sinh, sinh(x))                            \
  X(cosh, cosh(x))                            \
  X(asinh, asinh(x))                          \
  X(acosh, acosh(x))                          \
  X(atanh, atanh(x))                          \
  X(mish, mish(x))                            \
  X(swish, swish(x, p))                       \
  X(thresholded_relu, thresholded_relu(x, p)) \
  X(clip, clip(x, p, q))                      \
  X(square, canonical(x* x))                  \
  X(replace_nan, select(is_nan(x), p, x))     \
  X(round_to_f16, round_to_f16(x))            \
  X(round_to_bf16, round_to_bf16(x))

// X(name, value) with a and b the operands. prelu: a < 0 ? a * b : a.
#define SDX_BINARY_OPS(X)    \
  X(add, canonical(a + b))   \
  X(sub, canonical(a - b))   \
  X(mul, canonical(a* b))    \
  X(div, canonical(a / b))   \
  X(min, min(a, b))          \
  X(max, max(a, b))          \
  X(pow, pow(a, b))          \
  X(prelu, leaky_relu(a, b)) \
  X(fmod, fmod(a, b))        \
  X(floor_mod, floor_mod(a, b))

#define SDX_ENUMERATOR(name, value) name,
enum class UnaryOp { SDX_UNARY_OPS(SDX_ENUMERATOR) };
enum class BinaryOp { SDX_BINARY_OPS(SDX_ENUMERATOR) };
#undef SDX_ENUMERATOR

#define SDX_COUNT(name, value) +1
inline constexpr int kUnaryOps = SDX_UNARY_OPS(SDX_COUNT);
inline constexpr int kBinaryOps = SDX_BINARY_OPS(SDX_COUNT);
#undef SDX_COUNT

// One element, the same bits as the array kernels. Parameters as in ONNX: alpha first, then gamma,
// beta or the upper bound.
float scalar_unary(UnaryOp op, float x, float p = 0.0f, float q = 0.0f);
float scalar_binary(BinaryOp op, float a, float b);
const char* op_name(UnaryOp op);
const char* op_name(BinaryOp op);

}  // namespace sdx
