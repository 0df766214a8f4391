// Rows of a 16-bit Softmax, each step rounded to the type. That of float16 is kernel/softmax's.
#pragma once

#include "kernel/elementwise/arrays.h"
#include "ops/rounded.h"

namespace sdx::ops {

// Floats that hold values of T (F16 or BF16), each rounded to T again; `bits` has room for n.
template <class T>
void round_row(float* x, uint16_t* bits, size_t n, Isa isa) {
  if constexpr (std::is_same_v<T, F16>) {
    SDX_PICK(array_to_f16, isa)(x, bits, n);
    SDX_PICK(array_from_f16, isa)(bits, x, n);
  } else {
    SDX_PICK(array_to_bf16, isa)(x, bits, n);
    SDX_PICK(array_from_bf16, isa)(bits, x, n);
  }
}

// x becomes e = exp(x - max x); returns the sum of e.
template <class T>
float exp_narrow_row(float* x, uint16_t* bits, size_t n, Isa isa) {
  const float most = SDX_PICK(array_max, isa)(x, n);
  SDX_PICK(array_binary, isa)(BinaryOp::sub, x, 1, &most, 0, x, n);
  round_row<T>(x, bits, n, isa);
  SDX_PICK(array_unary, isa)(UnaryOp::exp, x, x, n, 0, 0);
  round_row<T>(x, bits, n, isa);
  if constexpr (std::is_same_v<T, F16>) return rounded<T>(SDX_PICK(array_sum, isa)(x, n));
  return rounded_sum<T>(n, [&](size_t i) { return x[i]; });
}

// x becomes e / sum e; `bits` holds the result in bfloat16.
inline void softmax_bf16_row(float* x, uint16_t* bits, size_t n, Isa isa) {
  const float sum = exp_narrow_row<BF16>(x, bits, n, isa);
  SDX_PICK(array_binary, isa)(BinaryOp::div, x, 1, &sum, 0, x, n);
  round_row<BF16>(x, bits, n, isa);
}

}  // namespace sdx::ops
