// What the operators' files share: element types as template arguments, and small pieces of
// inference.
#pragma once

#include <algorithm>
#include <cassert>
#include <limits>

#include "op/op.h"

namespace sdx {

// The type in which a floating type is computed: narrow ones widen to float and round once at the
// end.
template <class T>
struct ComputeOf {
  using type = float;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

template <class T>
Compute<T> load(const T& x) {
  return static_cast<Compute<T>>(x);
}
template <class T>
T store(Compute<T> x) {
  if constexpr (std::is_arithmetic_v<T>) {
    // Every NaN result is the one canonical quiet NaN.
    return x == x ? x : std::numeric_limits<T>::quiet_NaN();
  } else {
    return T::from(x);
  }
}

// visit_floats(type, [&]<class T>() { ... }): T is float, double, F16 or BF16. False for other
// types.
template <class F>
bool visit_floats(DType type, F&& f) {
  switch (type) {
    case DType::f32:
      f.template operator()<float>();
      return true;
    case DType::f64:
      f.template operator()<double>();
      return true;
    case DType::f16:
      f.template operator()<F16>();
      return true;
    case DType::bf16:
      f.template operator()<BF16>();
      return true;
    default:
      return false;
  }
}

// T is the C++ integer type of that width and sign (bool is uint8_t). False for packed and other
// types.
template <class F>
bool visit_integers(DType type, F&& f) {
  switch (type) {
    case DType::i8:
      f.template operator()<int8_t>();
      return true;
    case DType::i16:
      f.template operator()<int16_t>();
      return true;
    case DType::i32:
      f.template operator()<int32_t>();
      return true;
    case DType::i64:
      f.template operator()<int64_t>();
      return true;
    case DType::u8:
      f.template operator()<uint8_t>();
      return true;
    case DType::u16:
      f.template operator()<uint16_t>();
      return true;
    case DType::u32:
      f.template operator()<uint32_t>();
      return true;
    case DType::u64:
      f.template operator()<uint64_t>();
      return true;
    default:
      return false;
  }
}

// An element type that the signature allows but this body does not handle; the planner reports it
// before a run.
inline Error unsupported_type(std::string_view op, DType type) {
  return fail("SDX-R0002", "{}: no implementation for element type {}", op, short_name(type));
}

// The input's type and shape without its value.
inline Fact like(const Fact& fact) {
  Fact result = fact;
  result.value.reset();
  result.symbolic.reset();
  return result;
}
// The shape of one input under another element type.
inline Fact like(const Fact& fact, DType type) {
  Fact result = like(fact);
  result.type = type;
  return result;
}

// Output i as planned, or, where only the run tells its shape, made with these dimensions.
inline Result<View> output(Args& args, size_t i, Dims dims) {
  if (!args.out(i).present()) return args.make(i, std::move(dims));
  assert(std::equal(dims.begin(), dims.end(), args.out(i).dims.begin(), args.out(i).dims.end()));
  return args.out(i);
}

// A shape as [outer, size of axis, inner].
struct AxisSplit {
  size_t outer = 1, size = 1, inner = 1;
};
inline AxisSplit split_at(std::span<const int64_t> dims, size_t first, size_t count = 1) {
  AxisSplit split;
  for (size_t i = 0; i < dims.size(); ++i) {
    (i < first ? split.outer : i < first + count ? split.size : split.inner) *= size_t(dims[i]);
  }
  return split;
}

}  // namespace sdx
