// The one order of every sum over elements: 16 virtual lanes and a fixed tree (docs/numerics.md,
// "Reductions").
//
// Lane j adds the elements i = j, j + 16, j + 32 ... in that order, starting from +0. Then lane j
// takes lane j + 8, then j + 4, j + 2, j + 1. One AVX-512 register, two AVX2 registers and this
// loop give the same bits.
#pragma once

#include <cstddef>

namespace sdx {

inline constexpr size_t kLanes = 16;

// get(i) for i in [0, n), folded with `add`, from `zero`.
template <class T, class Get, class Add>
T lane_fold(size_t n, T zero, Get get, Add add) {
  T lane[kLanes];
  for (T& x : lane) x = zero;
  for (size_t i = 0; i < n; ++i) lane[i % kLanes] = add(lane[i % kLanes], get(i));
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lane[j] = add(lane[j], lane[j + half]);
  }
  return lane[0];
}

template <class T, class Get>
T lane_sum(size_t n, Get get) {
  return lane_fold(n, T(0), get, [](T a, T b) { return a + b; });
}

}  // namespace sdx
