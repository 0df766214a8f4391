// The meaning of matrix products, to the bit: scalar, the order of operations in the open.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace sdx::reference {

// A NaN result is the canonical quiet NaN, whatever the operands' NaNs were.
template <class T>
T canonical(T x) {
  return std::isnan(x) ? std::numeric_limits<T>::quiet_NaN() : x;
}

// acc = fma(a[0], b[0], +0); acc = fma(a[1], b[1], acc); ... T is float or double.
template <class T>
T dot(size_t k, const T* a, size_t a_step, const T* b, size_t b_step) {
  T acc = 0;
  for (size_t i = 0; i < k; ++i) acc = std::fma(a[i * a_step], b[i * b_step], acc);
  return acc;
}

// out[i][j] = dot(A row i, B column j) [* alpha] [+ bias(i, j) [* beta]]; a step in brackets is
// left out where the factor is 1 or the bias is null. Strides are in elements, so that transposing
// an operand is exchanging its strides.
template <class T>
struct Matmul {
  size_t m, n, k;
  const T* a;
  size_t a_row, a_k;
  const T* b;
  size_t b_k, b_col;
  T* c;
  size_t ldc;
  T alpha = 1;
  const T* bias = nullptr;
  size_t bias_row = 0, bias_col = 0;
  T beta = 1;
};

template <class T>
void matmul(const Matmul<T>& g) {
  for (size_t i = 0; i < g.m; ++i) {
    for (size_t j = 0; j < g.n; ++j) {
      T x = dot(g.k, g.a + i * g.a_row, g.a_k, g.b + j * g.b_col, g.b_k);
      if (g.alpha != 1) x = x * g.alpha;
      if (g.bias != nullptr) {
        T bias = g.bias[i * g.bias_row + j * g.bias_col];
        if (g.beta != 1) bias = bias * g.beta;
        x = x + bias;
      }
      g.c[i * g.ldc + j] = canonical(x);
    }
  }
}

}  // namespace sdx::reference
