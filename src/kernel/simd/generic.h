// What every lane type can do beyond its own operators, written once: signs, NaN, minimum and
// maximum, 16-bit floats.
#pragma once

#include <cstdint>

#include "kernel/simd/soft.h"

namespace sdx::lanes {

template <class F>
SDX_INLINE auto is_nan(F a) {
  return a != a;
}
inline constexpr int32_t kNan32 = 0x7fc00000;
inline constexpr int64_t kNan64 = 0x7ff8000000000000;

template <class F>
SDX_INLINE F nan() {
  if constexpr (sizeof(typename F::Scalar) == 4) {
    return from_bits(typename F::Int(kNan32));
  } else {
    return from_bits(typename F::Int(kNan64));
  }
}
// The one NaN for any NaN. Machines differ in the sign and payload of the NaNs they make.
template <class F>
SDX_INLINE F canonical(F a) {
  if constexpr (requires { fix_nan(a); }) {
    return fix_nan(a);
  } else {
    return select(is_nan(a), nan<F>(), a);
  }
}

template <class F>
SDX_INLINE typename F::Int sign_bit() {
  if constexpr (sizeof(typename F::Scalar) == 4) {
    return typename F::Int(INT32_MIN);
  } else {
    return typename F::Int(INT64_MIN);
  }
}
template <class F>
SDX_INLINE F negate(F a) {
  return from_bits(bits(a) ^ sign_bit<F>());
}
template <class F>
SDX_INLINE F abs(F a) {
  return from_bits((bits(a) | sign_bit<F>()) ^ sign_bit<F>());
}
template <class F>
SDX_INLINE F negative_magnitude(F a) {
  return from_bits(bits(a) | sign_bit<F>());
}
// The magnitude of a, which must be positive, with the sign of b.
template <class F>
SDX_INLINE F with_sign(F a, F b) {
  return from_bits(bits(a) | (bits(b) & sign_bit<F>()));
}
// a where the sign of x is set, else b.
template <class F>
SDX_INLINE F select_negative(F x, F a, F b) {
  if constexpr (requires { blend_by_sign(x, a, b); }) {
    return blend_by_sign(x, a, b);
  } else {
    return select(bits(x) < typename F::Int(0), a, b);
  }
}
template <class F>
SDX_INLINE F copysign(F a, F b) {
  return with_sign(lanes::abs(a), b);
}

// NaN if either is NaN; -0 is less than +0.
template <class F>
SDX_INLINE F min(F a, F b) {
  const F m = select(a == b, from_bits(bits(a) | bits(b)), min_raw(a, b));
  return select(is_nan(a) | is_nan(b), nan<F>(), m);
}
template <class F>
SDX_INLINE F max(F a, F b) {
  const F m = select(a == b, from_bits(bits(a) & bits(b)), max_raw(a, b));
  return select(is_nan(a) | is_nan(b), nan<F>(), m);
}

// The bfloat16 in the low 16 bits of each lane, and back.
template <class I>
SDX_INLINE typename I::Float widen_bf16(I h) {
  return canonical(from_bits(h << 16));
}
template <class F>
SDX_INLINE typename F::Int narrow_bf16(F a) {
  using I = typename F::Int;
  const I i = bits(a);
  const I odd = shift_right_logical(i, 16) & I(1);
  return select(is_nan(a), I(0x7fc0), shift_right_logical(i + odd + I(0x7fff), 16));
}

}  // namespace sdx::lanes
