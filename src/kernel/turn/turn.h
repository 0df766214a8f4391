// turn: a tile of a matrix transposed, for elements of 1, 2, 4 and 8 bytes.
//
// Lines of the source may lie a power of two apart, and then share a few sets of the caches. Such a
// tile is first copied, line by line, into a buffer whose rows do not collide, so that every line
// of either side is touched once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

// to[r * to_row + c * size] = from[r * size + c * from_column], strides in bytes.
struct Turn {
  const char* from = nullptr;
  int64_t from_column = 0;
  char* to = nullptr;
  int64_t to_row = 0;
  size_t rows = 0, columns = 0;
  bool stream = false;  // what is written goes past the caches; 64-byte lines of `to` are whole
};

struct TurnBlock {
  size_t rows, columns;
};
// How a matrix is best cut: the most that fits one call. A side that is not much longer than its
// part of a tile stays whole, since memory is quickest from end to end.
TurnBlock turn_block(size_t size, size_t rows, size_t columns);

SDX_DECLARE_ISAS(void turn(size_t size, const Turn& tile);)

// A tile is held in so many bytes, its source's lines so many apart.
inline constexpr size_t kTurnBytes = 64 << 10;
constexpr size_t turn_step(size_t size, size_t rows) { return (rows * size + 15) / 16 * 16 + 64; }

}  // namespace sdx
