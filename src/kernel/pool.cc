#include "kernel/pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace sdx {
namespace {

// A worker spins this long for the next loop before it sleeps: the gap between two operators of a
// plan.
constexpr int kSpins = 4000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

// The index of the thread whose loop body is running here; -1 outside of loops.
thread_local int inside_loop = -1;

}  // namespace

struct Pool::State {
  int threads = 1;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> round{0};  // grows by one per loop; workers wait for it
  std::atomic<bool> stop{false};
  std::atomic<bool> busy{false};  // one loop at a time; a second caller runs its loop alone
  std::atomic<int> running{0};

  // The loop of this round.
  Fn fn = nullptr;
  void* body = nullptr;
  size_t n = 0, chunk = 1;
  std::atomic<size_t> next{0};

  void work(int thread) {
    inside_loop = thread;
    for (size_t begin; (begin = next.fetch_add(chunk, std::memory_order_relaxed)) < n;) {
      fn(body, begin, std::min(n, begin + chunk), thread);
    }
    inside_loop = -1;
  }

  void serve(int thread) {
    uint64_t seen = 0;
    while (true) {
      for (int i = 0; i < kSpins && round.load(std::memory_order_acquire) == seen; ++i) relax();
      if (round.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return round.load(std::memory_order_acquire) != seen; });
      }
      seen = round.load(std::memory_order_acquire);
      if (stop) return;
      work(thread);
      running.fetch_sub(1, std::memory_order_release);
    }
  }
};

Pool::Pool(int threads) : state_(std::make_unique<State>()) {
  state_->threads = threads > 0 ? threads : allowed_cpus();
  for (int i = 1; i < state_->threads; ++i) {
    state_->workers.emplace_back([this, i] { state_->serve(i); });
  }
}

Pool::~Pool() {
  state_->stop = true;
  {
    std::lock_guard lock(state_->mutex);
    state_->round.fetch_add(1, std::memory_order_release);
  }
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int Pool::threads() const { return state_->threads; }

void Pool::run(size_t n, size_t grain, Fn fn, void* body) {
  State& s = *state_;
  grain = std::max<size_t>(grain, 1);
  if (n == 0) return;
  if (s.threads == 1 || n <= grain || inside_loop >= 0 ||
      s.busy.exchange(true, std::memory_order_acquire)) {
    fn(body, 0, n, std::max(0, inside_loop));
    return;
  }
  s.fn = fn;
  s.body = body;
  s.n = n;
  // A few chunks per thread even out cores of unequal speed.
  const size_t even = (n + size_t(s.threads) * 4 - 1) / (size_t(s.threads) * 4);
  s.chunk = std::max(grain, even);
  s.next.store(0, std::memory_order_relaxed);
  s.running.store(s.threads - 1, std::memory_order_relaxed);
  {
    std::lock_guard lock(s.mutex);
    s.round.fetch_add(1, std::memory_order_release);
  }
  s.wake.notify_all();
  s.work(0);
  while (s.running.load(std::memory_order_acquire) != 0) relax();
  s.busy.store(false, std::memory_order_release);
}

}  // namespace sdx
