// Sizes of memory that is cut into pieces: each begins at a multiple of 64 bytes, a line of the
// cache and the widest vector.
#pragma once

#include <cstddef>

namespace sdx {

constexpr size_t aligned_bytes(size_t bytes) { return (bytes + 63) / 64 * 64; }
// The same of elements of four bytes.
constexpr size_t aligned_floats(size_t count) { return (count + 15) / 16 * 16; }

}  // namespace sdx
