#include "kernel/turn/columns.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernel/isa_testing.h"

namespace sdx {
namespace {

TEST(Columns, join_and_come_apart_at_every_size_and_level) {
  for (const Isa isa : available_isas()) {
    for (const size_t size : {1, 2, 4, 8}) {
      for (size_t columns = 2; columns <= kMostColumns; ++columns) {
        for (const size_t n : {0, 1, 2, 3, 7, 16, 31, 64, 129, 1009}) {
          SCOPED_TRACE(testing::Message() << isa_name(isa) << ", " << columns << " columns of " << n
                                          << " elements of " << size << " bytes");
          std::vector<std::vector<char>> parts(columns, std::vector<char>(n * size + 1));
          std::vector<const void*> from(columns);
          std::vector<void*> to(columns);
          for (size_t c = 0; c < columns; ++c) {
            for (size_t i = 0; i < n * size; ++i) parts[c][i] = char(i * 31 + c * 101 + i / 256);
            from[c] = parts[c].data();
          }
          std::vector<char> joined(columns * n * size + 1, char(77));
          SDX_PICK(join_columns, isa)(size, columns, from.data(), joined.data(), n);
          EXPECT_EQ(joined.back(), 77);
          for (size_t i = 0; i < n * columns; ++i) {
            const char* element = parts[i % columns].data() + i / columns * size;
            ASSERT_EQ(std::memcmp(joined.data() + i * size, element, size), 0) << i;
          }
          std::vector<std::vector<char>> apart(columns, std::vector<char>(n * size + 1));
          for (size_t c = 0; c < columns; ++c) to[c] = apart[c].data();
          SDX_PICK(deal_columns, isa)(size, columns, joined.data(), to.data(), n);
          EXPECT_EQ(apart, parts);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sdx
