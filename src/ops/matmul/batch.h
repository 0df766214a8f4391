// Sizes of matrix products as numpy.matmul sees them: batches that broadcast, vectors as single
// rows and columns.
#pragma once

#include <array>
#include <cmath>

#include "ops/common.h"

namespace sdx::ops {

inline constexpr size_t kMostBatchAxes = 8;

struct MatMulShape {
  size_t m = 1, n = 1, k = 1, batches = 1;
  size_t axes = 0;
  // Batch axes, first to last: size, and the step in elements of A and of B (0 where it
  // broadcasts).
  std::array<size_t, kMostBatchAxes> size{}, step_a{}, step_b{};
  // Batches come in runs with one step for each operand.
  size_t run = 1, run_a = 0, run_b = 0;

  std::pair<size_t, size_t> offsets(size_t batch) const {
    size_t a = 0, b = 0;
    for (size_t i = axes; i-- > 0;) {
      a += batch % size[i] * step_a[i];
      b += batch % size[i] * step_b[i];
      batch /= size[i];
    }
    return {a, b};
  }
};

// Of shapes that infer() has accepted. Ranks above 2 + kMostBatchAxes do not occur.
inline MatMulShape matmul_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  MatMulShape s;
  const size_t batch_a = a.size() > 2 ? a.size() - 2 : 0, batch_b = b.size() > 2 ? b.size() - 2 : 0;
  s.m = a.size() > 1 ? size_t(a[a.size() - 2]) : 1;
  s.k = size_t(a.back());
  s.n = b.size() > 1 ? size_t(b.back()) : 1;
  s.axes = std::max(batch_a, batch_b);
  size_t step_a = s.m * s.k, step_b = s.k * s.n;
  for (size_t i = s.axes; i-- > 0;) {
    const auto size_of = [&](std::span<const int64_t> dims, size_t batch) {
      return i + batch >= s.axes ? size_t(dims[i + batch - s.axes]) : size_t{1};
    };
    const size_t in_a = size_of(a, batch_a), in_b = size_of(b, batch_b);
    s.size[i] = in_a == 1 ? in_b : in_a;
    s.step_a[i] = in_a == 1 ? 0 : step_a;
    s.step_b[i] = in_b == 1 ? 0 : step_b;
    step_a *= in_a;
    step_b *= in_b;
    s.batches *= s.size[i];
  }
  // Axes join the run from the last one on while the steps continue it.
  for (size_t i = s.axes; i-- > 0;) {
    if (s.size[i] == 1) continue;
    if (s.run == 1) {
      s.run_a = s.step_a[i];
      s.run_b = s.step_b[i];
    } else if (s.step_a[i] != s.run * s.run_a || s.step_b[i] != s.run * s.run_b) {
      break;
    }
    s.run *= s.size[i];
  }
  // Rows of A that follow each other and share B are one taller matrix.
  if (s.run > 1 && s.run_b == 0 && s.run_a == s.m * s.k && s.run == s.batches) {
    s.m *= s.run;
    s.batches = s.run = 1;
    s.axes = 0;
  }
  return s;
}

template <class T>
T dot(size_t k, const T* a, size_t a_step, const T* b, size_t b_step) {
  if constexpr (std::is_integral_v<T>) {
    uint64_t acc = 0;
    for (size_t i = 0; i < k; ++i) acc += uint64_t(a[i * a_step]) * uint64_t(b[i * b_step]);
    return T(acc);
  } else {
    Compute<T> acc = 0;
    for (size_t i = 0; i < k; ++i) acc = std::fma(load(a[i * a_step]), load(b[i * b_step]), acc);
    return store<T>(acc);
  }
}

}  // namespace sdx::ops
