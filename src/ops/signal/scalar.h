// Scalars that operators take as inputs, and results in double stored to any type.
#pragma once

#include <limits>

#include "ops/common.h"

namespace sdx::ops {

inline Result<int64_t> integer_input(const Args& args, size_t i, std::string_view what) {
  if (args.in(i).count != 1) {
    return fail("SDX-T0901", "{} has shape {}; it must be a scalar", what,
                to_string(args.in(i).dims));
  }
  return get_i64(args.in(i).type, args.in(i).raw, 0);
}

// The attribute of that name: a type of numbers.
inline Result<DType> output_datatype(const Node& node) {
  const int64_t type = node.i("output_datatype");
  if (!valid(type) || is_packed(DType(type)) ||
      (!is_float(DType(type)) && !is_integer(DType(type)))) {
    return fail("SDX-T0906", "output_datatype {} is not a numeric type", type);
  }
  return DType(type);
}

// The scalar as an expression, if it is known before the run.
inline std::optional<Dim> integer_fact(const Facts& in, size_t i) {
  if (i >= in.size() || !in[i].present()) return {};
  const auto values = in[i].integers();
  if (!values || values->size() != 1) return {};
  return values->front();
}

// Rounded once; integers truncate and saturate; every NaN is the canonical one.
inline void put_f64(const View& out, size_t i, double x) {
  if (!is_float(out.type)) {
    const bool is_unsigned = !is_signed(out.type);
    set_i64(out.type, out.raw, i,
            is_unsigned ? int64_t(to_integer<uint64_t>(x)) : to_integer<int64_t>(x));
  } else {
    set_f64(out.type, out.raw, i, x == x ? x : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace sdx::ops
