#include "kernel/turn/turn.h"

#include <algorithm>

namespace sdx {

TurnBlock turn_block(size_t size, size_t rows, size_t columns) {
  const size_t line = 64 / size;
  const auto columns_for = [&](size_t part) {
    return std::max(line, kTurnBytes / turn_step(size, part) / line * line);
  };
  const size_t side = size <= 2 ? 256 : size == 4 ? 128 : 64;
  constexpr size_t kMuch = 3;
  if (rows <= kMuch * side) return {rows, columns_for(rows)};
  if (columns <= kMuch * side && columns * turn_step(size, line) <= kTurnBytes) {
    const size_t bytes = kTurnBytes / columns - turn_step(size, 0);
    return {bytes / 64 * line, columns};
  }
  return {side, columns_for(side)};
}

}  // namespace sdx
