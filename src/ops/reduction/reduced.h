// Reduced: a shape split into kept and reduced axes, and the walk over the elements that one output
// takes.
#pragma once

#include <algorithm>
#include <array>

#include "ops/common.h"

namespace sdx::ops {

// Adjacent axes of the same kind are one; axes of size 1 are dropped. Row-major over the reduced
// axes is the order in which docs/numerics.md numbers the elements.
struct Reduced {
  struct Axis {
    size_t size, step;  // in the input
  };
  static constexpr size_t kMost = 64;
  std::array<Axis, kMost> kept{}, gone{};
  size_t kept_axes = 0, gone_axes = 0;
  size_t outputs = 1, count = 1;  // outputs, and elements that each takes
  bool empty = false;             // no input elements at all

  static size_t walk(size_t flat, const std::array<Axis, kMost>& axes, size_t n) {
    size_t offset = 0;
    for (size_t i = n; i-- > 0;) {
      offset += flat % axes[i].size * axes[i].step;
      flat /= axes[i].size;
    }
    return offset;
  }
  // Of output `o`'s first element; from there, of element i.
  size_t base(size_t o) const { return walk(o, kept, kept_axes); }
  size_t offset(size_t i) const { return walk(i, gone, gone_axes); }
};

// `reduced(axis)` says which axes go.
template <class Is>
Reduced split_reduced(std::span<const int64_t> dims, Is reduced) {
  Reduced r;
  size_t step = 1;
  bool last_gone = false, any = false;
  for (size_t i = dims.size(); i-- > 0;) {
    const auto size = size_t(dims[i]);
    const bool gone = reduced(i);
    (gone ? r.count : r.outputs) *= size;
    if (size == 0) r.empty = true;
    if (size == 1) continue;
    auto& axes = gone ? r.gone : r.kept;
    size_t& n = gone ? r.gone_axes : r.kept_axes;
    if (any && last_gone == gone && n > 0) {
      axes[n - 1].size *= size;
    } else {
      axes[n++] = {size, step};
    }
    any = true;
    last_gone = gone;
    step *= size;
  }
  std::reverse(r.kept.begin(), r.kept.begin() + r.kept_axes);
  std::reverse(r.gone.begin(), r.gone.begin() + r.gone_axes);
  return r;
}

}  // namespace sdx::ops
