#include "base/tensor.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sdx {
namespace {

TEST(Tensor, memory_is_aligned_and_apart_whatever_its_size) {
  std::vector<std::pair<std::shared_ptr<void>, size_t>> pieces;
  for (const size_t bytes : {0, 1, 63, 64, 65, 1000, 4095, 4096, 4097, 5000, 70'000}) {
    for (int i = 0; i < 3; ++i) {
      pieces.emplace_back(allocate_aligned(bytes), bytes);
      const auto& [memory, size] = pieces.back();
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % kAlignment, 0U) << bytes;
      std::memset(memory.get(), static_cast<int>(pieces.size()), size);
    }
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(pieces[i].first.get());
    for (size_t k = 0; k < pieces[i].second; ++k) ASSERT_EQ(bytes[k], i + 1);
  }
}

}  // namespace
}  // namespace sdx
