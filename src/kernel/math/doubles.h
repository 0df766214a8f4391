// Elementary functions of arrays of doubles at each level, with the bits of math.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

enum class DoubleFunction : uint8_t { exp, log, tanh, sigmoid, sin, cos };

// y[i] = f(x[i]) for i < n; y may be x.
SDX_DECLARE_ISAS(void double_function(DoubleFunction f, const double* x, double* y, size_t n);
                 // z[i] = pow(x[i], y[i * step]) for i < n, step 0 or 1; z may be x or y.
                 void double_power(const double* x, const double* y, size_t step, double* z,
                                   size_t n);)

}  // namespace sdx
