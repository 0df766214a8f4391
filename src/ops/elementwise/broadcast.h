// Broadcast<N>: how N row-major inputs are read while the output is written in row-major order.
//
// Neighbouring axes that all inputs walk alike are merged, so that most calls are one long run;
// within a run each input either advances with the output (step 1) or stays (step 0).
#pragma once

#include <array>
#include <span>

#include "ops/common.h"

namespace sdx {

// Merged axes have at least two positions each, and a tensor has at most 2^48 elements.
inline constexpr size_t kMostAxes = 48;

template <size_t N>
class Broadcast {
 public:
  using Offsets = std::array<size_t, N>;
  using InputDims = std::array<std::span<const int64_t>, N>;

  // Input i lines up with the output's last axis, or with `trail[i]` axes further left. Sizes must
  // be the output's or 1, as infer has found.
  Broadcast(std::span<const int64_t> out, const InputDims& in, const Offsets& trail = {}) {
    Offsets stride;
    stride.fill(1);
    for (size_t axis = out.size(); axis-- > 0;) {
      count_ *= size_t(out[axis]);
      Offsets step{};
      for (size_t i = 0; i < N; ++i) {
        const size_t from_end = out.size() - axis;
        if (from_end <= trail[i] || from_end > trail[i] + in[i].size()) continue;
        const int64_t size = in[i][in[i].size() + trail[i] - from_end];
        if (size != 1) step[i] = stride[i];
        stride[i] *= size_t(size);
      }
      add(out[axis], step);
    }
    if (axes_ == 0) {
      sizes_[0] = 1;
      steps_[0] = {};
      axes_ = 1;
    }
  }

  size_t count() const { return count_; }  // elements of the output
  size_t run() const { return sizes_[0]; }
  // 0 or 1: what input i advances by within a run.
  size_t step(size_t i) const { return steps_[0][i]; }

  // f(at, from, length) for each run or piece of one in output elements [begin, end): output at ..
  // at + length, the inputs from from[i] on.
  template <class F>
  void pieces(size_t begin, size_t end, F&& f) const {
    if (begin >= end) return;
    std::array<size_t, kMostAxes> index;
    Offsets from{};
    for (size_t axis = 0, rest = begin; axis < axes_; ++axis) {
      index[axis] = rest % sizes_[axis];
      rest /= sizes_[axis];
      for (size_t i = 0; i < N; ++i) from[i] += index[axis] * steps_[axis][i];
    }
    for (size_t at = begin; at < end;) {
      const size_t length = std::min(end - at, sizes_[0] - index[0]);
      f(at, from, length);
      at += length;
      // The next run: back to the start of this axis, one further on the next, carrying over.
      for (size_t i = 0; i < N; ++i) from[i] -= index[0] * steps_[0][i];
      index[0] = 0;
      for (size_t axis = 1; axis < axes_; ++axis) {
        for (size_t i = 0; i < N; ++i) from[i] += steps_[axis][i];
        if (++index[axis] < sizes_[axis]) break;
        for (size_t i = 0; i < N; ++i) from[i] -= sizes_[axis] * steps_[axis][i];
        index[axis] = 0;
      }
    }
  }

 private:
  // Axes arrive from the innermost one on.
  void add(int64_t size, const Offsets& step) {
    if (size == 0) count_ = 0;
    if (count_ == 0 || size == 1) return;
    if (axes_ > 0) {
      bool merges = true;
      for (size_t i = 0; i < N; ++i) {
        merges = merges && step[i] == steps_[axes_ - 1][i] * sizes_[axes_ - 1];
      }
      if (merges) {
        sizes_[axes_ - 1] *= size_t(size);
        return;
      }
    }
    sizes_[axes_] = size_t(size);
    steps_[axes_++] = step;
  }

  size_t count_ = 1, axes_ = 0;
  std::array<size_t, kMostAxes> sizes_;  // innermost first
  std::array<Offsets, kMostAxes> steps_;
};

// The least number of elements worth a thread of its own, for work of about one operation per
// element.
inline constexpr size_t kElementGrain = 16384;

// The shape that all present inputs broadcast to; nothing if a rank is unknown.
inline Result<std::optional<Shape>> broadcast_all(std::span<const Fact> in) {
  std::optional<Shape> shape;
  for (const Fact& fact : in) {
    if (!fact.present()) continue;
    if (!fact.has_rank()) return std::optional<Shape>();
    if (!shape) {
      shape = fact.shape;
      continue;
    }
    SDX_ASSIGN(shape, broadcast(*shape, *fact.shape));
  }
  return shape;
}

// Shape arithmetic: the elements of fact `out`, where f gives each from the elements of the inputs,
// if all inputs are known, one at least as expressions, and small. f returns nothing for an element
// that cannot be expressed.
template <size_t N, class F>
void track(Fact& out, const Facts& in, F&& f) {
  if (!out.is_concrete()) return;
  const Dims dims = out.dims();
  const auto count = element_count(dims);
  if (!count || *count > kMostTracked) return;
  std::array<std::vector<Dim>, N> known;
  std::array<Dims, N> in_dims;
  typename Broadcast<N>::InputDims spans;
  bool symbolic = false;
  for (size_t i = 0; i < N; ++i) {
    if (!in[i].is_concrete()) return;
    symbolic = symbolic || !in[i].value;
    std::optional<std::vector<Dim>> values = in[i].integers();
    if (!values) return;
    known[i] = *std::move(values);
    in_dims[i] = in[i].dims();
    spans[i] = in_dims[i];
  }
  // Constants alone are folded by the reference, which also knows how they wrap.
  if (!symbolic) return;
  const Broadcast<N> walk(dims, spans);
  std::vector<Dim> result;
  bool all = true;
  walk.pieces(0, walk.count(), [&](size_t, const auto& from, size_t length) {
    for (size_t j = 0; j < length && all; ++j) {
      std::array<const Dim*, N> element;
      for (size_t i = 0; i < N; ++i) element[i] = &known[i][from[i] + j * walk.step(i)];
      std::optional<Dim> value = f(element);
      all = value.has_value();
      if (all) result.push_back(*std::move(value));
    }
  });
  if (all) out.symbolic = std::move(result);
}

// Sizes are never negative, so an expression without a negative term is not either.
inline bool never_negative(const Dim& dim) {
  return dim.is_const() ? dim.value() >= 0 : dim.text().find('-') == std::string::npos;
}

}  // namespace sdx
