// Reading indices: checked once for the whole tensor, so that the loops that follow cannot leave
// their arrays.
#pragma once

#include <algorithm>
#include <cstring>

#include "ops/common.h"
#include "ops/tensor/small_ints.h"

namespace sdx {

inline int64_t raw_index(const View& indices, size_t i) {
  return indices.type == DType::i32 ? indices.data<int32_t>()[i] : indices.data<int64_t>()[i];
}
// Index i in [0, size), negative ones counted from the end.
inline int64_t index_at(const View& indices, size_t i, int64_t size) {
  const int64_t index = raw_index(indices, i);
  return index < 0 ? index + size : index;
}

inline Error index_out_of_range(int64_t index, size_t axis, int64_t size) {
  return fail("SDX-R0101", "index {} is out of range for axis {} of size {}", index, axis, size);
}

// f(the indices as they lie in memory).
template <class F>
void visit_indices(const View& indices, F&& f) {
  indices.type == DType::i32 ? f(indices.data<int32_t>()) : f(indices.data<int64_t>());
}

inline Status check_indices(const View& indices, int64_t size, size_t axis) {
  // Without a branch; which one it is is looked for only if there is one.
  bool wrong = false;
  visit_indices(indices, [&](const auto* index) {
    const auto range = 2 * uint64_t(size);
    for (size_t i = 0; i < indices.count; ++i)
      wrong |= uint64_t(int64_t(index[i])) + uint64_t(size) >= range;
  });
  for (size_t i = 0; wrong && i < indices.count; ++i) {
    const int64_t index = raw_index(indices, i);
    if (index < -size || index >= size) return index_out_of_range(index, axis, size);
  }
  return ok();
}

// Tuples of 64-bit integers in the last axis of `indices`, for the axes of `dims` from `first` on.
inline Status check_tuples(const View& indices, std::span<const int64_t> dims, size_t first) {
  const size_t depth = size_t(indices.dims.back());
  const auto* index = indices.data<int64_t>();
  for (size_t i = 0; i < indices.count; i += depth) {
    for (size_t k = 0; k < depth; ++k) {
      const int64_t size = dims[first + k];
      if (index[i + k] < -size || index[i + k] >= size)
        return index_out_of_range(index[i + k], first + k, size);
    }
  }
  return ok();
}

// Where tuple i points, counted in slices after the indexed axes.
inline size_t tuple_position(const View& indices, size_t i, size_t depth,
                             std::span<const int64_t> dims, size_t first) {
  size_t position = 0;
  const auto* tuple = indices.data<int64_t>() + i * depth;
  for (size_t k = 0; k < depth; ++k) {
    const int64_t size = dims[first + k];
    position = position * size_t(size) + size_t(tuple[k] < 0 ? tuple[k] + size : tuple[k]);
  }
  return position;
}

// For the elements [begin, end) of `indices`, in their order: f(position, i), the position in a
// tensor of these dims that element i means, its own but for the index along `axis`.
template <class F>
void element_positions(const View& indices, size_t axis, std::span<const int64_t> dims,
                       const SmallInts& strides, size_t begin, size_t end, F f) {
  const size_t rank = dims.size(), width = size_t(indices.dims.back());
  const size_t across = axis == rank - 1 ? 0 : 1, stride = size_t(strides[axis]);
  const int64_t size = dims[axis];
  visit_indices(indices, [=, &indices, &strides](const auto* index) mutable {
    while (begin < end) {
      // Along the last axis nothing but the index changes.
      const size_t first = begin % width, count = std::min(width - first, end - begin);
      size_t base = first * across;
      for (size_t k = rank - 1, rest = begin / width; k-- > 0; rest /= size_t(indices.dims[k])) {
        if (k != axis) base += rest % size_t(indices.dims[k]) * size_t(strides[k]);
      }
      const auto* from = index + begin;
      for (size_t j = 0; j < count; ++j, base += across) {
        const int64_t at = from[j];
        f(base + size_t(at < 0 ? at + size : at) * stride, begin + j);
      }
      begin += count;
    }
  });
}

// Moves elements that stand one after the other; what the type needs is looked up once.
class RowCopy {
 public:
  explicit RowCopy(DType type)
      : type_(type), bytes_(type == DType::string || is_packed(type) ? 0 : bits(type) / 8) {}

  void operator()(const void* from, size_t from_at, void* to, size_t to_at, size_t count) const {
    if (bytes_ == 0) return slow(from, from_at, to, to_at, count);
    const auto* x = static_cast<const std::byte*>(from) + from_at * bytes_;
    auto* y = static_cast<std::byte*>(to) + to_at * bytes_;
    if (count == 1 && bytes_ == 4) {
      std::memcpy(y, x, 4);
    } else if (count == 1 && bytes_ == 8) {
      std::memcpy(y, x, 8);
    } else {
      std::memcpy(y, x, count * bytes_);
    }
  }

 private:
  void slow(const void* from, size_t from_at, void* to, size_t to_at, size_t count) const {
    if (type_ == DType::string) {
      std::copy_n(static_cast<const std::string*>(from) + from_at, count,
                  static_cast<std::string*>(to) + to_at);
      return;
    }
    for (size_t i = 0; i < count; ++i)
      set_bits(type_, to, to_at + i, get_bits(type_, from, from_at + i));
  }

  DType type_;
  size_t bytes_;
};

inline void copy_row(DType type, const void* from, size_t from_at, void* to, size_t to_at,
                     size_t count) {
  const RowCopy copy(type);
  copy(from, from_at, to, to_at, count);
}

// body(begin, end) over rows of `inner` elements, by several threads where elements do not share
// bytes.
template <class Body>
void share_rows(Pool* pool, size_t rows, size_t inner, DType type, Body&& body) {
  if (rows == 0 || inner == 0) return;
  const size_t bytes = std::max<size_t>(1, inner * std::max<size_t>(1, bits(type) / 8));
  const size_t grain = std::max<size_t>(1, 65536 / bytes);
  if (pool == nullptr || type == DType::string || is_packed(type) || rows <= grain)
    return body(0, rows);
  pool->parallel(rows, grain, [&](size_t begin, size_t end, int) { body(begin, end); });
}

}  // namespace sdx
