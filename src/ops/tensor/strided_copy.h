// Strided copy: the one loop nest behind every operator that only moves elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

// A nest of loops over two arrays, built from the outermost loop inwards. Strides are in elements
// and may be zero or negative. Loops of one iteration vanish and neighbours that walk both arrays
// alike become one; a tensor has at most 2^48 elements, so no more than 48 loops are ever left.
class Loops {
 public:
  struct Loop {
    size_t n;
    int64_t from, to;
  };
  void add(int64_t n, int64_t from, int64_t to);
  bool empty() const { return empty_; }  // some loop has no iteration
  std::span<const Loop> loops() const { return {loops_.data(), rank_}; }

 private:
  std::array<Loop, 48> loops_;
  size_t rank_ = 0;
  bool empty_ = false;
};

// to[to_start + sum i*to_stride] = from[from_start + sum i*from_stride] for any element type.
// `pool` may be null.
void strided_copy(const Loops& loops, DType type, const void* from, int64_t from_start, void* to,
                  int64_t to_start, Pool* pool, Isa isa);

// `count` elements from one contiguous place to another.
void flat_copy(DType type, const void* from, size_t from_start, void* to, size_t to_start,
               size_t count, Pool* pool, Isa isa);

// Element `j` of `to` becomes element `i` of `from`.
inline void copy_element(DType type, const void* from, size_t i, void* to, size_t j) {
  flat_copy(type, from, i, to, j, 1, nullptr, Isa::portable);
}

// Every element becomes the first one of `value`.
void fill(DType type, const void* value, void* to, size_t count, Pool* pool, Isa isa);

// Packed elements are set one by one; the unused bits of the last byte must not keep what was in
// memory before.
void clear_tail(DType type, void* data, size_t count);

}  // namespace sdx
