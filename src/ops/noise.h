// noise: tensors of reproducible random elements, for operators' cases; the same on every machine.
#pragma once

#include "base/tensor.h"
#include "kernel/random/philox.h"

namespace sdx {

// Uniform in [low, high); integers truncate.
inline Tensor noise(DType type, Dims dims, uint64_t seed = 1, double low = -2, double high = 2) {
  Tensor t = Tensor::make(type, std::move(dims));
  const Philox random(seed);
  for (size_t i = 0; i < t.count(); ++i) {
    const double x = low + random.uniform(i) * (high - low);
    if (is_float(type)) {
      set_f64(type, t.raw(), i, x);
    } else {
      set_i64(type, t.raw(), i, to_integer<int64_t>(x));
    }
  }
  return t;
}
inline Tensor noise(Dims dims, uint64_t seed = 1) {
  return noise(DType::f32, std::move(dims), seed);
}

}  // namespace sdx
