#include "run/output_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace sdx::run {
namespace {

constexpr size_t kMega = 1 << 20;

TEST(OutputMemory, what_the_caller_released_serves_again) {
  OutputMemory memory;
  memory.start();
  auto a = memory.take(5 * kMega), b = memory.take(kMega);
  const void *first = a.get(), *second = b.get();
  std::memset(a.get(), 1, 5 * kMega);
  a.reset();
  b.reset();
  EXPECT_EQ(memory.idle_bytes(), 6 * kMega);
  memory.start();
  b = memory.take(kMega);
  a = memory.take(5 * kMega);
  EXPECT_EQ(a.get(), first);
  EXPECT_EQ(b.get(), second);
  EXPECT_EQ(memory.idle_bytes(), 0);
}

TEST(OutputMemory, what_the_caller_holds_is_never_given_twice) {
  OutputMemory memory;
  std::vector<std::shared_ptr<void>> held;
  for (int run = 0; run < 5; ++run) {
    memory.start();
    held.push_back(memory.take(kMega));
    for (size_t i = 0; i + 1 < held.size(); ++i) EXPECT_NE(held[i].get(), held.back().get());
  }
  held.clear();
  EXPECT_EQ(memory.idle_bytes(), kMega) << "more than one run takes was kept";
}

TEST(OutputMemory, sizes_that_runs_no_longer_need_are_given_back) {
  OutputMemory memory;
  memory.start();
  (void)memory.take(7 * kMega);
  EXPECT_EQ(memory.idle_bytes(), 7 * kMega);
  for (int run = 0; run < 2; ++run) {
    memory.start();
    (void)memory.take(kMega);
  }
  EXPECT_EQ(memory.idle_bytes(), kMega);
}

TEST(OutputMemory, may_be_released_by_any_thread_and_after_the_session) {
  std::vector<std::thread> threads;
  {
    OutputMemory memory;
    for (int run = 0; run < 200; ++run) {
      memory.start();
      auto taken = memory.take(kMega + size_t(run % 3) * kMega);
      static_cast<char*>(taken.get())[run] = 1;
      if (run % 20 == 0) threads.emplace_back([kept = std::move(taken)] { (void)kept; });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sdx::run
