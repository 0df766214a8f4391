#include "base/stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>
#include <string>

namespace sdx {
namespace {

// Uses about a kilobyte of stack per level.
int deep(int levels) {
  volatile char here[1024];
  here[0] = char(levels);
  return levels == 0 ? 0 : deep(levels - 1) + (here[0] == char(levels) ? 1 : 0);
}

// work() on a thread with a stack of 128 KB.
template <class Work>
void on_small_stack(Work work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* given) -> void* {
                  (*static_cast<Work*>(given))();
                  return nullptr;
                },
                &work),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Stack, deep_work_fits_whatever_thread_asks_for_it) {
  int found = 0;
  on_small_stack([&] { found = on_deep_stack([] { return deep(2000); }); });
  EXPECT_EQ(found, 2000);
}

TEST(Stack, what_is_thrown_comes_back) {
  std::string message;
  on_small_stack([&] {
    try {
      on_deep_stack([]() -> int { throw std::runtime_error("from below"); });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
  });
  EXPECT_EQ(message, "from below");
}

}  // namespace
}  // namespace sdx
