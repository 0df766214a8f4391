// Limits as a 64-bit machine has them, where sizes may have 32 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

namespace sdx {

// So many bytes, or as many as one object can have here.
constexpr size_t fitting(uint64_t bytes) {
  return size_t(std::min<uint64_t>(bytes, uint64_t{PTRDIFF_MAX}));
}

// Throws std::bad_alloc if no memory can hold so many elements. For sizes that are a product of
// others, before they are multiplied: in 32 bits the product would wrap.
inline void must_fit(double elements) {
  if (elements > double(PTRDIFF_MAX / 8)) throw std::bad_alloc();
}

}  // namespace sdx
