#include "kernel/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

namespace sdx {

TEST(Pool, covers_every_index_once) {
  for (int threads : {1, 2, 5}) {
    Pool pool(threads);
    for (size_t n : {0, 1, 7, 1000}) {
      std::vector<int> hits(n, 0);
      pool.parallel(n, 3, [&](size_t begin, size_t end, int thread) {
        EXPECT_LT(thread, threads);
        for (size_t i = begin; i < end; ++i) ++hits[i];
      });
      EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), size_t{0}), n);
      EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](int h) { return h == 1; }));
    }
  }
}

TEST(Pool, nobody_works_on_a_loop_that_has_returned) {
  struct Loop {
    std::atomic<bool> over{false};
    std::atomic<size_t> done{0};
  };
  constexpr size_t kLoops = 3000;
  std::vector<Loop> loops(kLoops);
  std::atomic<int> late{0};
  Pool pool(3);
  for (size_t i = 0; i < kLoops; ++i) {
    Loop& loop = loops[i];
    const size_t n = 2 + i % 5;
    pool.parallel(n, 1, [&](size_t begin, size_t end, int) {
      late += loop.over;
      loop.done += end - begin;
    });
    EXPECT_EQ(loop.done, n);
    loop.over = true;
  }
  EXPECT_EQ(late, 0);
}

TEST(Pool, a_forked_child_gets_workers_of_its_own) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer knows no new threads in a child of several";
#endif
  Pool pool(3);
  const auto sum = [&] {
    std::atomic<size_t> total{0};
    pool.parallel(1000, 1, [&](size_t begin, size_t end, int) { total += end - begin; });
    return total.load();
  };
  ASSERT_EQ(sum(), 1000U);
  const pid_t child = fork();
  if (child == 0) _exit(sum() == 1000 && sum() == 1000 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sum(), 1000U);
}

TEST(Pool, a_thread_begins_with_the_same_part_of_every_loop) {
  Pool pool(2);
  for (int loop = 0; loop < 200; ++loop) {
    std::atomic<int> inside{0};
    int thread_of[2] = {-1, -1};
    pool.parallel(2, 1, [&](size_t begin, size_t end, int thread) {
      ASSERT_EQ(end, begin + 1);
      thread_of[begin] = thread;
      ++inside;
      while (inside < 2) std::this_thread::yield();  // each has one of the two
    });
    EXPECT_EQ(thread_of[0], 0);
    EXPECT_EQ(thread_of[1], 1);
  }
}

TEST(Pool, nested_loops_run_in_place) {
  Pool pool(2);
  std::atomic<int> sum{0};
  pool.parallel(8, 1, [&](size_t begin, size_t end, int outer) {
    for (size_t i = begin; i < end; ++i) {
      pool.parallel(4, 1, [&](size_t b, size_t e, int inner) {
        EXPECT_EQ(inner, outer);
        sum += int(e - b);
      });
    }
  });
  EXPECT_EQ(sum, 32);
}

TEST(Pool, what_any_worker_throws_reaches_the_caller_and_the_pool_goes_on) {
  for (const int threads : {1, 2, 4}) {
    Pool pool(threads);
    for (size_t thrower : {0, 57, 99}) {
      const auto loop = [&] {
        pool.parallel(100, 1, [&](size_t begin, size_t end, int) {
          if (begin <= thrower && thrower < end) throw std::bad_alloc();
        });
      };
      EXPECT_THROW(loop(), std::bad_alloc);
      std::atomic<size_t> total{0};
      pool.parallel(1000, 1, [&](size_t begin, size_t end, int) { total += end - begin; });
      EXPECT_EQ(total, 1000U);
    }
  }
}

}  // namespace sdx
