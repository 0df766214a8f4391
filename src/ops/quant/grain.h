// Grain: which scale and zero point each element of a quantised tensor uses: one per tensor, per
// index of an axis, or per block along an axis.
#pragma once

#include "op/layout.h"
#include "ops/common.h"

namespace sdx::ops {

// Element [outer, a, inner] uses scale outer * outer_step + (a / block) * axis_step + inner *
// inner_step.
struct Grain {
  size_t outer = 1, size = 1, inner = 1;  // the tensor, split at the axis
  size_t block = 1;
  size_t outer_step = 0, axis_step = 0, inner_step = 0;

  size_t at(size_t o, size_t a, size_t i) const {
    return o * outer_step + (a / block) * axis_step + i * inner_step;
  }
  bool per_tensor() const { return axis_step == 0; }
};

// From the shapes of the tensor and of its scale; block 0 means not blocked. `dims` are those of
// the tensor.
inline Result<Grain> grain_of(std::span<const int64_t> dims, std::span<const int64_t> scale,
                              int64_t axis, int64_t block) {
  SDX_ASSIGN(const size_t scales, element_count(scale));
  SDX_ASSIGN(const size_t count, element_count(dims));
  Grain grain;
  if (scales == 1 && (block == 0 || scale.size() != dims.size())) {
    grain.size = count;
    return grain;
  }
  if (block < 0) return fail("SDX-T0301", "block_size is {}; it must not be negative", block);
  const size_t rank = dims.size();
  if (block == 0 && rank == 1) axis = 0;
  SDX_ASSIGN(const size_t at, resolve_axis(axis, rank));
  const AxisSplit split = split_at(dims, at);
  grain.outer = split.outer;
  grain.size = split.size;
  grain.inner = split.inner;
  if (block == 0) {
    if (scale.size() != 1 || scale[0] != dims[at]) {
      return fail(
          "SDX-T0302",
          "a scale of shape {} does not fit a tensor of shape {}: per-axis quantisation along "
          "axis {} needs shape [{}]",
          to_string(scale), to_string(dims), at, dims[at]);
    }
    grain.axis_step = 1;
    return grain;
  }
  const int64_t blocks = dims[at] / block + (dims[at] % block != 0 ? 1 : 0);
  bool fits = scale.size() == rank;
  for (size_t i = 0; fits && i < rank; ++i) fits = scale[i] == (i == at ? blocks : dims[i]);
  if (!fits) {
    return fail(
        "SDX-T0303",
        "a scale of shape {} does not fit a tensor of shape {}: blocks of {} along axis {} need "
        "the tensor's shape with {} there",
        to_string(scale), to_string(dims), block, at, blocks);
  }
  grain.block = size_t(block);
  grain.outer_step = size_t(scale[at]) * split.inner;
  grain.axis_step = split.inner;
  grain.inner_step = 1;
  return grain;
}

// What can be said of the shapes before running: the rules of grain_of on what is known, and a zero
// point's shape.
inline Status check_grain(const Facts& in, int64_t axis, int64_t block) {
  if (in[0].is_concrete() && in[1].is_concrete()) {
    SDX_TRY(grain_of(in[0].dims(), in[1].dims(), axis, block));
  }
  if (in.size() > 2 && in[2].is_concrete() && in[1].is_concrete()) {
    SDX_ASSIGN(const size_t scales, element_count(in[1].dims()));
    SDX_ASSIGN(const size_t zeros, element_count(in[2].dims()));
    if (scales != zeros) {
      return fail("SDX-T0304", "the zero point has shape {} and the scale {}: they must be equal",
                  to_string(in[2].dims()), to_string(in[1].dims()));
    }
  }
  return ok();
}

// One scale for all elements, or one per index of an axis that moves as a whole.
inline std::optional<Relaid> grain_layout(int64_t axis, int64_t block, const Relay& asked) {
  if (asked.from != 0 || !asked.in[1].has_rank()) return std::nullopt;
  Relaid made = Relaid::same(asked);
  if (product(*asked.in[1].shape).is_const(1) && block == 0) return made;
  const auto at = resolve_axis(axis, asked.layout.rank());
  if (block != 0 || !at || asked.layout.rank() < 2 || asked.layout.blocked == *at ||
      !asked.use.has("axis")) {
    return std::nullopt;
  }
  made.use.attrs["axis"] = int64_t(asked.layout.at(*at));
  return made;
}

// Calls f(first element, count, scale index, scale step) for the longest runs whose scale is one
// (step 0) or walks with the elements (step 1), within elements [begin, end) in row-major order.
template <class F>
void each_run(const Grain& g, size_t begin, size_t end, F&& f) {
  while (begin < end) {
    size_t inner = begin % g.inner, a = begin / g.inner % g.size;
    const size_t outer = begin / g.inner / g.size;
    size_t n = end - begin, step = 0;
    if (g.per_tensor()) {
      // one run
    } else if (g.inner_step == 1 && g.inner > 1) {
      n = std::min(n, g.inner - inner);
      step = 1;
    } else if (g.inner == 1 && g.block == 1) {
      n = std::min(n, g.size - a);
      step = 1;
    } else {
      // Up to the end of the block or of the axis.
      const size_t last = std::min((a / g.block + 1) * g.block, g.size);
      n = std::min(n, (last - a) * g.inner - inner);
    }
    f(begin, n, g.at(outer, a, inner), step);
    begin += n;
  }
}

}  // namespace sdx::ops
