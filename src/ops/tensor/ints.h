// Integers that some versions of an operator take as an attribute and others as an input.
#pragma once

#include "ops/common.h"
#include "ops/tensor/small_ints.h"

namespace sdx {

using MaybeInts = std::optional<std::vector<int64_t>>;

// In inference: the attribute, or the constant input; none if only the run tells.
inline MaybeInts known_ints(const MaybeInts& attr, const Facts& in, size_t input) {
  if (attr) return attr;
  return input < in.size() && in[input].present() ? in[input].constant_integers() : std::nullopt;
}
// The same as expressions.
inline std::optional<std::vector<Dim>> known_dims(const MaybeInts& attr, const Facts& in,
                                                  size_t input) {
  if (attr) return shape_of(*attr);
  return input < in.size() && in[input].present() ? in[input].integers() : std::nullopt;
}
// In a run. Empty if neither is given.
inline SmallInts run_ints(const MaybeInts& attr, const Args& args, size_t input) {
  if (attr) return SmallInts(*attr);
  return args.has(input) ? SmallInts::of(args.in(input)) : SmallInts();
}
inline bool given(const MaybeInts& attr, const Facts& in, size_t input) {
  return attr || (input < in.size() && in[input].present());
}
inline MaybeInts attr_ints(const Node& node, std::string_view name) {
  if (!node.has(name)) return std::nullopt;
  return node.ints(name);
}

// A shape that a model gives has no dimension below `least`.
inline Status no_negative(const Shape& shape, int64_t least = 0) {
  for (const Dim& dim : shape) {
    if (dim.is_const() && dim.value() < least)
      return fail("SDX-T0206", "the shape {} has a negative dimension", to_string(shape));
  }
  return ok();
}

// As many unknown dimensions as a list input has elements; unknown rank if that is not known
// either.
inline Fact unknown_dims(DType type, const Fact& list) {
  if (list.has_rank() && list.rank() == 1 && list.dim(0).is_const()) {
    return Fact::tensor(type, Shape(size_t(list.dim(0).value()), Dim::unknown()));
  }
  return Fact::tensor(type);
}
inline Fact unknown_like(const Fact& fact) {
  return fact.has_rank() ? Fact::tensor(fact.type, Shape(fact.rank(), Dim::unknown()))
                         : Fact::tensor(fact.type);
}

// Negative axes counted from the end, each in range and none twice.
inline Result<SmallInts> resolve_axes(std::span<const int64_t> axes, size_t rank) {
  SmallInts result;
  for (const int64_t given_axis : axes) {
    SDX_ASSIGN(const size_t axis, resolve_axis(given_axis, rank));
    if (std::find(result.begin(), result.end(), int64_t(axis)) != result.end()) {
      return fail("SDX-T0203", "axis {} is given twice", given_axis);
    }
    result.push_back(int64_t(axis));
  }
  return result;
}

// Whether a size or index that is not a constant can be seen to be zero or more: sums and products
// of sizes are.
inline bool surely_not_negative(const Dim& dim) {
  return dim.is_const() ? dim.value() >= 0 : dim.text().find('-') == std::string::npos;
}

}  // namespace sdx
