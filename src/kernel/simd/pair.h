// Two vectors used as one of twice the lanes: lanes 0..n-1 in lo, n..2n-1 in hi.
#pragma once

#include "kernel/simd/soft.h"

namespace sdx::SDX_ISA {

template <class T>
struct Pair {
  static constexpr int kLanes = 2 * T::kLanes;
  using Scalar = typename T::Scalar;
  T lo, hi;

  Pair() = default;
  SDX_INLINE Pair(T l, T h) : lo(l), hi(h) {}
  SDX_INLINE Pair(Scalar x) : lo(x), hi(x) {}
  SDX_INLINE static Pair load(const Scalar* p) { return {T::load(p), T::load(p + T::kLanes)}; }
  SDX_INLINE void store(Scalar* p) const {
    lo.store(p);
    hi.store(p + T::kLanes);
  }

#define SDX_PAIR_BINARY(op) \
  friend SDX_INLINE Pair operator op(Pair a, Pair b) { return {a.lo op b.lo, a.hi op b.hi}; }
  SDX_PAIR_BINARY(+)
  SDX_PAIR_BINARY(-)
  SDX_PAIR_BINARY(*)
  SDX_PAIR_BINARY(/)
  SDX_PAIR_BINARY(&)
  SDX_PAIR_BINARY(|)
  SDX_PAIR_BINARY(^)
#undef SDX_PAIR_BINARY
  friend SDX_INLINE Pair operator~(Pair a) { return {~a.lo, ~a.hi}; }
  friend SDX_INLINE Pair operator<<(Pair a, int n) { return {a.lo << n, a.hi << n}; }
  friend SDX_INLINE Pair operator>>(Pair a, int n) { return {a.lo >> n, a.hi >> n}; }
  friend SDX_INLINE Pair shift_right_logical(Pair a, int n) {
    return {shift_right_logical(a.lo, n), shift_right_logical(a.hi, n)};
  }

  using Mask = Pair<typename T::Mask>;
#define SDX_PAIR_COMPARE(op) \
  friend SDX_INLINE Mask operator op(Pair a, Pair b) { return {a.lo op b.lo, a.hi op b.hi}; }
  SDX_PAIR_COMPARE(==)
  SDX_PAIR_COMPARE(!=)
  SDX_PAIR_COMPARE(<)
  SDX_PAIR_COMPARE(<=)
  SDX_PAIR_COMPARE(>)
  SDX_PAIR_COMPARE(>=)
#undef SDX_PAIR_COMPARE

  using Int = Pair<typename T::Int>;
  using Float = Pair<typename T::Float>;
  using Wide = Pair<typename T::Wide>;

#define SDX_PAIR_FUNCTION1(f) \
  friend SDX_INLINE Pair f(Pair a) { return {f(a.lo), f(a.hi)}; }
  SDX_PAIR_FUNCTION1(sqrt)
  SDX_PAIR_FUNCTION1(floor)
  SDX_PAIR_FUNCTION1(ceil)
  SDX_PAIR_FUNCTION1(trunc)
  SDX_PAIR_FUNCTION1(round_even)
#undef SDX_PAIR_FUNCTION1
  friend SDX_INLINE Pair min_raw(Pair a, Pair b) {
    return {min_raw(a.lo, b.lo), min_raw(a.hi, b.hi)};
  }
  friend SDX_INLINE Pair max_raw(Pair a, Pair b) {
    return {max_raw(a.lo, b.lo), max_raw(a.hi, b.hi)};
  }
  friend SDX_INLINE Pair fma(Pair a, Pair b, Pair c) {
    return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
  }
};

template <class M, class T>
SDX_INLINE Pair<T> select(Pair<M> m, Pair<T> a, Pair<T> b) {
  return {select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
}
template <class T>
SDX_INLINE auto blend_by_sign(Pair<T> x, Pair<T> a, Pair<T> b)
    -> Pair<decltype(blend_by_sign(x.lo, a.lo, b.lo))> {
  return {blend_by_sign(x.lo, a.lo, b.lo), blend_by_sign(x.hi, a.hi, b.hi)};
}
template <class M>
SDX_INLINE bool any(Pair<M> m) {
  return any(m.lo | m.hi);
}
template <class M>
SDX_INLINE bool all(Pair<M> m) {
  return all(m.lo & m.hi);
}
template <class F, class I>
SDX_INLINE Pair<F> ldexp(Pair<F> a, Pair<I> n) {
  return {ldexp(a.lo, n.lo), ldexp(a.hi, n.hi)};
}
template <class Table, class I>
SDX_INLINE auto lookup(const Table& table, Pair<I> index)
    -> Pair<decltype(lookup(table, index.lo))> {
  return {lookup(table, index.lo), lookup(table, index.hi)};
}
#define SDX_PAIR_CONVERT(f)                               \
  template <class T>                                      \
  SDX_INLINE auto f(Pair<T> a)->Pair<decltype(f(a.lo))> { \
    return {f(a.lo), f(a.hi)};                            \
  }
SDX_PAIR_CONVERT(fix_nan)
SDX_PAIR_CONVERT(bits)
SDX_PAIR_CONVERT(from_bits)
SDX_PAIR_CONVERT(to_f64)
SDX_PAIR_CONVERT(to_f32)
SDX_PAIR_CONVERT(to_i32)
#undef SDX_PAIR_CONVERT
template <class T>
SDX_INLINE void store_u16(uint16_t* p, Pair<T> a) {
  store_u16(p, a.lo);
  store_u16(p + T::kLanes, a.hi);
}
template <class T>
SDX_INLINE void store_f16_raw(uint16_t* p, Pair<T> a) {
  store_f16_raw(p, a.lo);
  store_f16_raw(p + T::kLanes, a.hi);
}

}  // namespace sdx::SDX_ISA
