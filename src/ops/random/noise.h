// noise: tensors of reproducible random elements, for operators' cases.
#pragma once

#include "base/tensor.h"
#include "kernel/random/philox.h"

namespace sdx::ops {

// Uniform in [low, high); integers truncate.
inline Tensor noise(DType type, Dims dims, uint64_t seed, double low = -1, double high = 1) {
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

}  // namespace sdx::ops
