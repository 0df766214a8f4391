// Affine: scale and bias tensors that broadcast to the shape of the tensor they are applied to.
#pragma once

#include <array>

#include "ops/common.h"

namespace sdx::ops {

class Affine {
 public:
  // `parameter` broadcasts to `dims`, as check_affine has made sure.
  Affine(const View& parameter, std::span<const int64_t> dims) : whole_(parameter.count) {
    const size_t extra = dims.size() - parameter.rank();
    size_t first = extra;
    while (first < dims.size() && parameter.dims[first - extra] == 1) ++first;
    for (size_t i = first; i < dims.size(); ++i)
      trailing_ = trailing_ && parameter.dims[i - extra] == dims[i];
    if (trailing_) return;
    size_t step = 1;
    rank_ = std::min(dims.size(), kMost);
    for (size_t i = rank_; i-- > 0;) {
      size_[i] = size_t(dims[i]);
      step_[i] = i < extra || parameter.dims[i - extra] == 1 ? 0 : step;
      if (i >= extra) step *= size_t(parameter.dims[i - extra]);
    }
  }
  // The index in the parameter that element `flat` of the tensor takes.
  size_t at(size_t flat) const {
    if (trailing_) return whole_ == 0 ? 0 : flat % whole_;
    size_t index = 0;
    for (size_t i = rank_; i-- > 0;) {
      index += flat % size_[i] * step_[i];
      flat /= size_[i];
    }
    return index;
  }
  // The parameter repeats along the last axes: element `flat` takes `flat % size`.
  bool repeats() const { return trailing_; }

 private:
  static constexpr size_t kMost = 64;
  size_t whole_ = 1, rank_ = 0;
  bool trailing_ = true;
  std::array<size_t, kMost> size_, step_;
};

inline Status check_affine(const Fact& parameter, const Fact& x, std::string_view name) {
  if (!parameter.present() || !parameter.has_rank() || !x.has_rank()) return ok();
  bool fits = parameter.rank() <= x.rank() && x.rank() <= 64;
  for (size_t i = 0; fits && i < parameter.rank(); ++i) {
    const Dim &from = parameter.dim(parameter.rank() - 1 - i), &to = x.dim(x.rank() - 1 - i);
    fits = !from.is_const() || from.is_const(1) || !to.is_const() || from == to;
  }
  if (fits) return ok();
  return fail("SDX-T0350", "{} of shape {} does not broadcast to {}", name,
              to_string(*parameter.shape), to_string(*x.shape));
}

// A vector with one element per channel (axis 1), or per element of `count`.
inline Status check_channels(const Fact& parameter, const Dim& count, std::string_view name) {
  if (!parameter.present() || !parameter.has_rank() || !count.is_const()) return ok();
  const Dim size = product(*parameter.shape);
  if (!size.is_const() || size == count) return ok();
  return fail("SDX-T0351", "{} of shape {} has {} elements, expected {}", name,
              to_string(*parameter.shape), size.text(), count.text());
}

inline void set_float(const View& to, size_t i, double x) {
  visit_floats(to.type, [&]<class T>() { to.data<T>()[i] = store<T>(Compute<T>(x)); });
}
inline double get_float(const View& from, size_t i) {
  double x = 0;
  visit_floats(from.type, [&]<class T>() { x = double(load(from.data<T>()[i])); });
  return x;
}

}  // namespace sdx::ops
