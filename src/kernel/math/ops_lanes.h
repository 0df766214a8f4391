// The operations of ops.h as templates over the lane types, one source for the scalar reference and
// the array kernels.
#pragma once

#include "kernel/math/activation.h"
#include "kernel/math/math.h"
#include "kernel/math/ops.h"

namespace sdx::lanes {

// Exact remainders take a loop per element, so each lane is taken in turn.
template <class F, class Remainder>
SDX_INLINE F per_lane(F a, F b, Remainder remainder) {
  float x[F::kLanes], y[F::kLanes];
  a.store(x);
  b.store(y);
  for (int i = 0; i < F::kLanes; ++i) x[i] = remainder(x[i], y[i]);
  return F::load(x);
}
template <class F>
SDX_INLINE F fmod(F a, F b) {
  return per_lane(a, b, static_cast<float (*)(float, float)>(math::fmod));
}
template <class F>
SDX_INLINE F floor_mod(F a, F b) {
  return per_lane(a, b, static_cast<float (*)(float, float)>(math::floor_mod));
}

template <UnaryOp op>
struct Unary;
template <BinaryOp op>
struct Binary;
#define SDX_UNARY(name, value)                                                   \
  template <>                                                                    \
  struct Unary<UnaryOp::name> {                                                  \
    template <class F>                                                           \
    static SDX_INLINE F apply(F x, [[maybe_unused]] F p, [[maybe_unused]] F q) { \
      return value;                                                              \
    }                                                                            \
  };
#define SDX_BINARY(name, value)           \
  template <>                             \
  struct Binary<BinaryOp::name> {         \
    template <class F>                    \
    static SDX_INLINE F apply(F a, F b) { \
      return value;                       \
    }                                     \
  };
SDX_UNARY_OPS(SDX_UNARY)
SDX_BINARY_OPS(SDX_BINARY)
#undef SDX_UNARY
#undef SDX_BINARY

}  // namespace sdx::lanes
