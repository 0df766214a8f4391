#include "base/slab.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/tensor.h"

namespace sdx {
namespace {

TEST(Slab, pieces_are_aligned_and_do_not_overlap) {
  for (const HugePages kind : {HugePages::always, HugePages::if_quick}) {
    const LastingUse use(kind);
    std::vector<std::pair<std::shared_ptr<void>, size_t>> pieces;
    for (size_t bytes : {1, 63, 64, 65, 100000, 3 << 20, 5 << 20, 20 << 20, 0, 7}) {
      pieces.emplace_back(allocate_lasting(bytes), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces.back().first.get()) % kAlignment, 0u);
      std::memset(pieces.back().first.get(), int(pieces.size()), bytes);
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(pieces[i].first.get());
      for (size_t k = 0; k < pieces[i].second; ++k) ASSERT_EQ(bytes[k], i + 1);
    }
  }
}

TEST(Slab, memory_in_huge_pages_has_any_size) {
  for (const size_t bytes : {size_t{1}, kHugePage - 1, 3 * kHugePage, 9 * kHugePage + 70}) {
    const std::shared_ptr<void> memory = allocate_huge(bytes, HugePages::if_quick);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % kHugePage, 0u);
    std::memset(memory.get(), 3, bytes);
    EXPECT_EQ(static_cast<const char*>(memory.get())[bytes - 1], 3);
  }
}

TEST(Slab, a_piece_outlives_its_neighbours) {
  std::shared_ptr<void> first = allocate_lasting(1000), second = allocate_lasting(1000);
  std::memset(second.get(), 5, 1000);
  first.reset();
  EXPECT_EQ(static_cast<const char*>(second.get())[999], 5);
}

}  // namespace
}  // namespace sdx
