// SmallInts: a few integers (axes, starts, strides) without heap memory while there are at most 16.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "op/args.h"

namespace sdx {

class SmallInts {
 public:
  SmallInts() = default;
  explicit SmallInts(size_t n, int64_t fill = 0) {
    for (size_t i = 0; i < n; ++i) push_back(fill);
  }
  SmallInts(std::span<const int64_t> values) {  // NOLINT: dimensions and attributes are such lists
    for (const int64_t value : values) push_back(value);
  }
  // The elements of an integer input.
  static SmallInts of(const View& view) {
    SmallInts result;
    for (size_t i = 0; i < view.count; ++i) result.push_back(get_i64(view.type, view.raw, i));
    return result;
  }

  void push_back(int64_t value) {
    if (size_ < few_.size()) {
      few_[size_++] = value;
      return;
    }
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(value);
    ++size_;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* begin() { return many_.empty() ? few_.data() : many_.data(); }
  const int64_t* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  int64_t* end() { return begin() + size_; }
  const int64_t* end() const { return begin() + size_; }
  int64_t& operator[](size_t i) { return begin()[i]; }
  int64_t operator[](size_t i) const { return begin()[i]; }
  operator std::span<const int64_t>() const { return {begin(), size_}; }  // NOLINT

 private:
  std::array<int64_t, 16> few_;
  std::vector<int64_t> many_;
  size_t size_ = 0;
};

// Row-major strides in elements.
inline SmallInts strides_of(std::span<const int64_t> dims) {
  SmallInts strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

}  // namespace sdx
