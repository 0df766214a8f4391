// Tensors for cases that compare a kernel with its reference: the same numbers on every machine.
#pragma once

#include "base/tensor.h"

namespace sdx {

// Elements between -2 and 2 that look random.
inline Tensor noise(DType type, Dims dims, uint32_t seed = 1) {
  Tensor tensor = Tensor::make(type, std::move(dims));
  for (size_t i = 0; i < tensor.count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    set_f64(type, tensor.raw(), i, double(int32_t(seed) >> 8) / (1 << 22));
  }
  return tensor;
}
inline Tensor noise(Dims dims, uint32_t seed = 1) {
  return noise(DType::f32, std::move(dims), seed);
}

}  // namespace sdx
