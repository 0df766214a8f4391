// Heads: a tensor of attention heads, [batch, heads, sequence, size] or packed as [batch, sequence,
// heads * size].
#pragma once

#include "ops/common.h"

namespace sdx::ops {

struct Heads {
  size_t batch = 0, heads = 0, length = 0, size = 0;
  bool packed = false;

  // The index of element 0 of one head's vector.
  size_t at(size_t b, size_t h, size_t i) const {
    return (packed ? (b * length + i) * heads + h : (b * heads + h) * length + i) * size;
  }
  size_t row_step() const { return packed ? heads * size : size; }
};

// What a tensor of 3 dimensions must come with.
inline Status check_heads(size_t rank, int64_t heads, std::string_view what) {
  if (rank != 3)
    return fail("SDX-T0501", "{} has rank {}; it must have 3 or 4 dimensions", what, rank);
  if (heads <= 0)
    return fail("SDX-T0502", "{} has 3 dimensions, so the number of heads must be given", what);
  return ok();
}

inline Result<Heads> heads_of(std::span<const int64_t> dims, int64_t heads, std::string_view what) {
  if (dims.size() == 4) {
    return Heads{size_t(dims[0]), size_t(dims[1]), size_t(dims[2]), size_t(dims[3]), false};
  }
  SDX_TRY(check_heads(dims.size(), heads, what));
  if (dims[2] % heads != 0) {
    return fail("SDX-T0503", "{} of shape {} does not split into {} heads", what, to_string(dims),
                heads);
  }
  return Heads{size_t(dims[0]), size_t(heads), size_t(dims[1]), size_t(dims[2] / heads), true};
}

// The same of a fact: batch, heads, length and size as dimensions.
struct HeadDims {
  Dim batch = Dim::unknown(), heads = Dim::unknown(), length = Dim::unknown(),
      size = Dim::unknown();
};
inline Result<HeadDims> head_dims(const Fact& fact, int64_t heads, std::string_view what) {
  if (!fact.has_rank()) return HeadDims{};
  if (fact.is_concrete()) SDX_TRY(heads_of(fact.dims(), heads, what));
  if (fact.rank() == 4) return HeadDims{fact.dim(0), fact.dim(1), fact.dim(2), fact.dim(3)};
  SDX_TRY(check_heads(fact.rank(), heads, what));
  return HeadDims{fact.dim(0), Dim(heads), fact.dim(1), floor_div(fact.dim(2), Dim(heads))};
}

// The type that scores and probabilities have, if the attribute names one.
inline Result<std::optional<DType>> softmax_precision(const Node& node) {
  if (!node.has("softmax_precision")) return std::optional<DType>();
  const int64_t precision = node.i("softmax_precision");
  if (!valid(precision) || !visit_floats(DType(precision), []<class T>() {})) {
    return fail("SDX-T0510", "softmax_precision {} is not float, double, float16 or bfloat16",
                precision);
  }
  return std::optional(DType(precision));
}

}  // namespace sdx::ops
