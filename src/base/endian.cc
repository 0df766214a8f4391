#include "base/endian.h"

#include <algorithm>

#include "base/tensor.h"

namespace sdx {

size_t number_bytes(DType type) {
  const size_t whole = std::max<size_t>(bits(type) / 8, 1);
  return is_complex(type) ? whole / 2 : is_packed(type) ? 1 : whole;
}

void turn_elements(DType type, void* elements, size_t bytes) {
  const size_t width = number_bytes(type);
  auto* at = static_cast<std::byte*>(elements);
  for (size_t i = 0; width > 1 && i + width <= bytes; i += width) turn_bytes(at + i, width);
}

std::shared_ptr<void> turned_elements(DType type, const void* elements, size_t bytes) {
  std::shared_ptr<void> copy = allocate_aligned(bytes);
  if (bytes > 0) std::memcpy(copy.get(), elements, bytes);
  turn_elements(type, copy.get(), bytes);
  return copy;
}

}  // namespace sdx
