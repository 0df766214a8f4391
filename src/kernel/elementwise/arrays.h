// Array kernels of the element-wise engine: one operation over contiguous floats, at the best level
// of this machine and with the same bits at every level and for every length. Outputs may be the
// inputs themselves but not overlap otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"
#include "kernel/math/ops.h"

namespace sdx {

// What follows one another for each element: (x - shift) * factor + term, each rounded on its own,
// then relu if asked for. Operands have stride 0 or 1 along a row, and go on by their `row` from
// one row to the next; a null shift is left out.
struct Scaling {
  const float *x, *shift, *factor, *term;
  uint8_t x_stride, shift_stride, factor_stride, term_stride;
  bool relu;
  size_t x_row = 0, shift_row = 0, factor_row = 0, term_row = 0;
};

// One operand of array_binary: `stride` is 0 or 1 along a row, `row` from one row to the next.
struct BinaryOperand {
  const float* data;
  size_t stride = 1, row = 0;
};

// The kernels of one level. unary: y[i] = op(x[i], p, q); unary_rows: the same for rows of n
// elements, ld apart. binary: y[i] = op(a[i * stride_a], b[i * stride_b]), strides 0 or 1;
// binary_rows and scaled: rows of n elements of y, one behind the other. sum,
// sum_of_squares (each square rounded, then added) and max follow the 16-lane rule: lane j takes
// elements i with i % 16 == j in order, starting from +0 or -infinity, then lanes fold by 8, 4,
// 2, 1.
SDX_DECLARE_ISAS(void array_unary(UnaryOp op, const float* x, float* y, size_t n, float p, float q);
                 void array_unary_rows(UnaryOp op, const float* x, float* y, size_t rows, size_t n,
                                       size_t ld, float p, float q);
                 void array_binary(BinaryOp op, const float* a, size_t stride_a, const float* b,
                                   size_t stride_b, float* y, size_t n);
                 void array_binary_rows(BinaryOp op, const BinaryOperand& a, const BinaryOperand& b,
                                        float* y, size_t rows, size_t n);
                 void array_scaled(const Scaling&, float* y, size_t rows, size_t n);
                 void array_from_f16(const uint16_t* x, float* y, size_t n);
                 void array_from_bf16(const uint16_t* x, float* y, size_t n);
                 void array_to_f16(const float* x, uint16_t* y, size_t n);
                 void array_to_bf16(const float* x, uint16_t* y, size_t n);
                 float array_sum(const float* x, size_t n);
                 float array_sum_of_squares(const float* x, size_t n);
                 float array_max(const float* x, size_t n);)

}  // namespace sdx
