// The p-norm as the pooling operators compute it: terms |x|^p that the caller adds up, and the p-th
// root of their sum.
#pragma once

#include <cmath>

#include "kernel/math/math.h"
#include "ops/common.h"

namespace sdx::ops {

inline Result<float> read_norm(const Node& node) {
  // A float in the first version, an integer since.
  const auto* f = std::get_if<float>(&node.attrs.find("p")->second);
  const float p = f != nullptr ? *f : float(node.i("p"));
  if (!(p >= 1)) return fail("SDX-T0337", "p is {}, expected at least 1", p);
  return p;
}

// p = 1: |x|;  p = 2: x * x;  else pow(|x|, p).
template <class C>
C norm_term(C x, C p) {
  return p == 1 ? std::fabs(x) : p == 2 ? x * x : math::pow(std::fabs(x), p);
}
// p = 1: s;  p = 2: sqrt(s);  else pow(s, 1 / p).
template <class C>
C norm_end(C sum, C p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : math::pow(sum, C(1) / p);
}

}  // namespace sdx::ops
