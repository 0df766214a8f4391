#include "kernel/turn/turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/turn/stream.h"

namespace sdx {
namespace {

TEST(Turn, tiles_fit_where_they_are_held) {
  for (const size_t size : {1, 2, 4, 8}) {
    for (size_t rows = 4; rows < 2000; rows += rows < 70 ? 1 : 37) {
      for (size_t columns = 4; columns < 2000; columns += columns < 70 ? 1 : 37) {
        const TurnBlock tile = turn_block(size, rows, columns);
        ASSERT_GT(tile.rows, 0);
        ASSERT_LE(tile.columns * turn_step(size, tile.rows), kTurnBytes)
            << size << ": " << rows << " x " << columns;
        // Tiles start at whole lines of what is written.
        if (columns > tile.columns) {
          ASSERT_EQ(tile.columns * size % 64, 0);
        }
      }
    }
  }
}

// A matrix whose lines lie so far apart (0: with a small gap, 1: one behind the other, else a power
// of two), turned into another one, at every level.
void check(size_t size, size_t rows, size_t columns, bool stream, size_t apart = 0) {
  const TurnBlock most = turn_block(size, rows, columns);
  rows = std::min(rows, most.rows);
  columns = std::min(columns, most.columns);
  const size_t from_column = apart <= 1 ? rows * size + (1 - apart) * 24 : apart;
  const size_t to_row = (columns * size + 127) / 64 * 64;
  std::vector<char> from(columns * from_column);
  for (size_t i = 0; i < from.size(); ++i) from[i] = char(i * 131 >> 2);
  std::vector<char> room(rows * to_row + 64);
  char* to = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64);
  for (const Isa isa : available_isas()) {
    std::fill(room.begin(), room.end(), char(77));
    Turn t{from.data(), int64_t(from_column), to, int64_t(to_row), rows, columns, stream};
    SDX_PICK(turn, isa)(size, t);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        ASSERT_EQ(
            std::memcmp(to + r * to_row + c * size, from.data() + c * from_column + r * size, size),
            0)
            << isa_name(isa) << " size " << size << " " << rows << " x " << columns << " at " << r
            << ", " << c;
      }
      for (size_t i = columns * size; i < to_row && r * to_row + i < rows * to_row - 64; ++i)
        ASSERT_EQ(to[r * to_row + i], 77) << "written beside the row";
    }
  }
}

TEST(Turn, moves_every_element_and_writes_nothing_else) {
  for (const size_t size : {1, 2, 4, 8}) {
    for (const size_t rows : {1, 3, 16, 17, 64, 100, 130, 400, 5000}) {
      for (const size_t columns : {1, 4, 15, 16, 33, 64, 96, 128, 500, 5000}) {
        check(size, rows, columns, false);
        check(size, rows, columns, true);
      }
    }
  }
}

TEST(Turn, reads_lines_where_they_are_or_copies_those_that_collide) {
  for (const size_t size : {1, 2, 4, 8}) {
    for (const size_t rows : {1, 3, 4, 6, 16, 24, 49}) {
      for (const size_t columns : {4, 16, 49, 500, 5000}) {
        check(size, rows, columns, false, 1);
        if (columns <= 500) check(size, rows, columns, false, 1024);
        if (columns <= 500) check(size, rows, columns, false, 4096);
      }
    }
  }
}

TEST(StreamCopy, moves_every_byte_and_no_other) {
  std::vector<char> from(1000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = char(i * 7);
  for (const Isa isa : available_isas()) {
    for (size_t at = 0; at < 70; at += 3) {
      for (const size_t bytes : {0, 1, 63, 64, 65, 128, 200, 700}) {
        std::vector<char> to(1000, 77);
        SDX_PICK(stream_copy, isa)(to.data() + at, from.data() + at / 2, bytes);
        SDX_PICK(stream_end, isa)();
        for (size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= at && i < at + bytes;
          ASSERT_EQ(to[i], inside ? from[at / 2 + i - at] : 77) << at << " " << bytes << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sdx
