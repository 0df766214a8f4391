// The order of bytes. Files, packed fields and digests have the least significant byte first,
// whatever machine reads or writes them; memory has the machine's own order. Whoever crosses from
// one to the other does it here. On most machines there is nothing to do and nothing is done.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "base/dtype.h"

namespace sdx {

inline constexpr bool kMemoryIsLittle = std::endian::native == std::endian::little;
static_assert(kMemoryIsLittle || std::endian::native == std::endian::big);

// The bytes of one number, from a file's order to the machine's or back.
inline void turn_bytes(std::byte* number, size_t width) {
  for (size_t i = 0; i < width / 2; ++i) std::swap(number[i], number[width - 1 - i]);
}

template <class T>
T load_little(const void* from) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if constexpr (!kMemoryIsLittle) turn_bytes(bytes, sizeof(T));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Of a whole number, the `width` least significant bytes.
template <class T>
void append_little(T value, std::string& to, size_t width = sizeof(T)) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  if constexpr (!kMemoryIsLittle) turn_bytes(bytes, sizeof(T));
  to.append(reinterpret_cast<const char*>(bytes), width);
}

// Bytes that are turned around together: a complex number is two, and elements narrower than a
// byte are packed from its least significant bit on every machine.
size_t number_bytes(DType type);

// All numbers of an array, in place.
void turn_elements(DType type, void* elements, size_t bytes);

// A copy of an array with all numbers turned around, for machines that need it.
std::shared_ptr<void> turned_elements(DType type, const void* elements, size_t bytes);

// The elements as a file holds them: `elements` themselves, or a copy that `held` keeps.
inline const std::byte* elements_for_file(DType type, const void* elements, size_t bytes,
                                          std::shared_ptr<void>& held) {
  if constexpr (!kMemoryIsLittle) {
    if (number_bytes(type) > 1) {
      held = turned_elements(type, elements, bytes);
      elements = held.get();
    }
  }
  return static_cast<const std::byte*>(elements);
}

}  // namespace sdx
