// The order of elements for sorting: NaN stands after every number and equals itself, -0 equals +0.
#pragma once

#include "ops/common.h"

namespace sdx {

// -1, 0 or 1 for a before, with or after b.
template <class T>
int compare_values(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return int(a != a) - int(b != b);
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

// Elements i and j of one array of any type; complex numbers by real part, then imaginary part;
// strings by bytes.
inline int compare_elements(DType type, const void* data, size_t i, size_t j) {
  int result = 0;
  const auto plain = [&]<class T>() {
    result = compare_values(static_cast<const T*>(data)[i], static_cast<const T*>(data)[j]);
  };
  if (type == DType::string) return plain.operator()<std::string>(), result;
  if (type == DType::c64 || type == DType::c128) {
    const DType part = type == DType::c64 ? DType::f32 : DType::f64;
    const int real = compare_elements(part, data, 2 * i, 2 * j);
    return real != 0 ? real : compare_elements(part, data, 2 * i + 1, 2 * j + 1);
  }
  if (visit_integers(type, plain)) return result;
  if (is_float(type)) return compare_values(get_f64(type, data, i), get_f64(type, data, j));
  return compare_values(get_i64(type, data, i), get_i64(type, data, j));
}

}  // namespace sdx
