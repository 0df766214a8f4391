#include "kernel/turn/turn.h"

#include <cstring>

#include "kernel/turn/wide.h"

namespace sdx::SDX_ISA {
namespace {

template <size_t kSize>
void turn_any(const char* from, size_t step, char* to, int64_t to_row, size_t first_row,
              size_t rows, size_t first_column, size_t columns) {
  for (size_t r = first_row; r < rows; ++r) {
    for (size_t c = first_column; c < columns; ++c)
      std::memcpy(to + int64_t(r) * to_row + c * kSize, from + c * step + r * kSize, kSize);
  }
}

// The lines of a source that do not share a few sets of the first cache, 64 of which lie in 4 KiB,
// are read where they are. Those one behind the other never do.
bool reads_in_place(const Turn& t, size_t size) {
  if (t.from_column <= 0) return false;
  const auto column = size_t(t.from_column);
  if (column == t.rows * size) return true;
  constexpr size_t kPage = 4096, kSets = 64, kWays = 8;
  const size_t common = column & (~column + 1);  // the greatest power of two that divides it
  const size_t sets = common < kPage / kSets ? kSets / 2 : common < kPage ? kPage / common : 1;
  return t.columns <= sets * kWays;
}

#if !defined(SDX_NO_VECTORS)
// Blocks of as many columns as fit `Pieces`, and what they leave.
template <size_t kSize, class Pieces>
void turn_blocked(const Turn& t, const char* held, size_t step) {
  constexpr size_t kBlock = 16 / kSize;  // a block has as many rows as columns
  constexpr size_t kColumns = kBlock * Pieces::kPieces;
  // The last blocks end with the tile, over others that they write again; lines that are streamed
  // must be whole.
  const bool all = !t.stream && t.rows >= kBlock && t.columns >= kColumns;
  const size_t whole_rows = all ? t.rows : t.rows / kBlock * kBlock;
  const size_t whole_columns = all ? t.columns : t.columns / kColumns * kColumns;
  const auto start = [](size_t at, size_t block, size_t end) {
    return at + block <= end ? at : end - block;
  };
  for (size_t row = 0; row < whole_rows; row += kBlock) {
    const size_t r = start(row, kBlock, whole_rows);
    for (size_t column = 0; column < whole_columns; column += kColumns) {
      const size_t c = start(column, kColumns, whole_columns);
      Pieces a[kBlock];
      const char* from = held + c * step + r * kSize;
      for (size_t i = 0; i < kBlock; ++i) a[i] = Pieces::load(from + i * step, kBlock * step);
      turn_blocks<kSize>(a);
      char* to = t.to + int64_t(r) * t.to_row + c * kSize;
      if constexpr (requires { a[0].stream(to); }) {
        if (t.stream) {
          for (size_t i = 0; i < kBlock; ++i) a[i].stream(to + int64_t(i) * t.to_row);
          continue;
        }
      }
      for (size_t i = 0; i < kBlock; ++i) a[i].store(to + int64_t(i) * t.to_row);
    }
  }
  turn_any<kSize>(held, step, t.to, t.to_row, 0, whole_rows, whole_columns, t.columns);
  turn_any<kSize>(held, step, t.to, t.to_row, whole_rows, t.rows, 0, t.columns);
}
#endif

template <size_t kSize>
void turn_sized(const Turn& t) {
  alignas(64) char copied[kTurnBytes];
  const bool in_place = reads_in_place(t, kSize);
  const size_t step = in_place ? size_t(t.from_column) : turn_step(kSize, t.rows);
  const char* const held = in_place ? t.from : copied;
  for (size_t c = 0; !in_place && c < t.columns; ++c)
    std::memcpy(copied + c * step, t.from + int64_t(c) * t.from_column, t.rows * kSize);
#if defined(SDX_NO_VECTORS)
  turn_any<kSize>(held, step, t.to, t.to_row, 0, t.rows, 0, t.columns);
#else
  if (t.columns * kSize < 16 * Wide::kPieces) {
    turn_blocked<kSize, Piece>(t, held, step);
  } else {
    turn_blocked<kSize, Wide>(t, held, step);
  }
#if defined(SDX_ISA_avx512)
  if (t.stream) _mm_sfence();
#endif
#endif
}

}  // namespace

void turn(size_t size, const Turn& tile) {
  switch (size) {
    case 1:
      return turn_sized<1>(tile);
    case 2:
      return turn_sized<2>(tile);
    case 4:
      return turn_sized<4>(tile);
    default:
      return turn_sized<8>(tile);
  }
}

}  // namespace sdx::SDX_ISA
