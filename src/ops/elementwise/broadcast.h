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
  Broadcast(std::span<const int64_t> out, const InputDims& in, const Offsets& trail = {});

  size_t count() const { return count_; }  // elements of the output
  size_t run() const { return sizes_[0]; }
  // 0 or 1: what input i advances by within a run.
  size_t step(size_t i) const { return steps_[0][i]; }

  // f(at, from, length) for each run or piece of one in output elements [begin, end): output at ..
  // at + length, the inputs from from[i] on.
  template <class F>
  void pieces(size_t begin, size_t end, F&& f) const {
    using Body = std::remove_reference_t<F>;
    each(
        begin, end,
        [](void* body, size_t at, const Offsets& from, size_t length) {
          (*static_cast<Body*>(body))(at, from, length);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Piece = void (*)(void* body, size_t at, const Offsets& from, size_t length);
  void each(size_t begin, size_t end, Piece piece, void* body) const;
  // Axes arrive from the innermost one on.
  void add(int64_t size, const Offsets& step);

  size_t count_ = 1, axes_ = 0;
  std::array<size_t, kMostAxes> sizes_;  // innermost first
  std::array<Offsets, kMostAxes> steps_;
};

extern template class Broadcast<1>;
extern template class Broadcast<2>;
extern template class Broadcast<3>;

// The least number of elements worth a thread of its own, for work of about one operation per
// element.
inline constexpr size_t kElementGrain = 16384;

// The shape that all present inputs broadcast to; nothing if a rank is unknown.
Result<std::optional<Shape>> broadcast_all(std::span<const Fact> in);

// Shape arithmetic: the elements of fact `out`, where f gives each from the elements of the inputs,
// if all inputs are known, one at least as expressions, and small. f returns nothing for an element
// that cannot be expressed.
template <size_t N>
using DimsToDim = std::optional<Dim> (*)(const std::array<const Dim*, N>&);
template <size_t N>
void track(Fact& out, const Facts& in, DimsToDim<N> f);

// Sizes are never negative, so an expression without a negative term is not either.
bool never_negative(const Dim& dim);

}  // namespace sdx
