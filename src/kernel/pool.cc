#include "kernel/pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/system.h"
#include "kernel/cpus.h"

namespace sdx {
namespace {

// A worker spins this long for the next loop before it sleeps, and a caller for its workers before
// it lets others run: longer than the last pieces of most operators take. On a busy machine,
// whoever lets go of a CPU waits for another's time slice to end, which is longer still. With more
// threads than CPUs, what is waited for needs the CPU of the one that waits.
using Time = std::chrono::microseconds;
constexpr Time kPatience{1000}, kPatienceWithoutCpu{50};

Time patience_of(int threads) {
  if (threads == 1) return kPatience;  // nobody to wait for
  static const int cpus = allowed_cpus();
  return threads <= cpus ? kPatience : kPatienceWithoutCpu;
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // yield does nothing on most cores
#endif
}

// Whether `done` came to hold in that time.
template <class Done>
bool spin_until(Time most, const Done& done) {
  constexpr int kLooks = 64;  // between two at the clock
  for (std::chrono::steady_clock::time_point end{};;) {
    for (int i = 0; i < kLooks; ++i, relax()) {
      if (done()) return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point{}) end = now + most;
    if (now >= end) return false;
  }
}

// The index of the thread whose loop body is running here; -1 outside of loops.
thread_local int inside_loop = -1;

// How many forks lie between the first process and this one. A child has none of its parent's
// workers.
std::atomic<int> forks{0};

int count_forks() {
  static const bool registered = [] {
    system::after_fork([] { forks.fetch_add(1, std::memory_order_relaxed); });
    return true;
  }();
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

// The threads of one pool in one process.
struct Crew {
  using Fn = void (*)(void*, size_t, size_t, int);

  explicit Crew(int count) : threads(count), forks_before(count_forks()) {
    try {
      for (int i = 1; i < threads; ++i) workers.emplace_back([this, i] { serve(i); });
    } catch (...) {  // no memory, or no more threads: those that started go home
      dismiss();
      throw;
    }
  }
  ~Crew() { dismiss(); }
  void dismiss() {
    stop = true;
    open_round(kClosed);
    for (std::thread& worker : workers) worker.join();
  }

  const int threads;
  const int forks_before;
  const Time patience = patience_of(threads);
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  // The number of loops so far, which workers wait to see grow, then whether the last one takes no
  // more of them, then how many are inside. The caller closes a loop once all of it is taken, and
  // waits only for those inside: a worker that the system keeps from running costs nothing.
  std::atomic<uint64_t> gate{0};
  static constexpr uint64_t kRound = uint64_t{1} << 32, kClosed = uint64_t{1} << 31;
  std::atomic<bool> stop{false};
  std::atomic<bool> busy{false};  // one loop at a time; a second caller runs its loop alone

  // The loop of this round.
  Fn fn = nullptr;
  void* body = nullptr;
  size_t n = 0, chunk = 1;
  const Deadline* deadline = nullptr;  // of the caller
  // The chunks are dealt out as one share for each thread, the same one in every loop of as many:
  // what a thread wrote in the loop before is mostly what it reads now, and caches of different
  // cores may be hundreds of nanoseconds apart for each line. Who is done helps the others.
  size_t chunks = 0;
  uint64_t loop = 0;  // how many there were: what a share says of an earlier one is nothing
  // The loop, then the next chunk; the share of a thread that nobody helps stays in its cache.
  struct alignas(64) Share {
    std::atomic<uint64_t> taken{0};
  };
  static constexpr uint64_t kLoop = uint64_t{1} << 20, kMostChunks = kLoop - 1;
  std::vector<Share> shares{size_t(threads)};

  // The next chunk of a thread's share; kMostChunks if there is none.
  size_t take_from(size_t of) {
    const size_t first = chunks * of / size_t(threads), end = chunks * (of + 1) / size_t(threads);
    std::atomic<uint64_t>& taken = shares[of].taken;
    uint64_t now = taken.load(std::memory_order_relaxed);
    while (true) {
      const size_t next = now / kLoop == loop ? now % kLoop : first;
      if (next >= end) return kMostChunks;
      const size_t after = next + 1 < end ? next + 1 : kMostChunks;
      if (taken.compare_exchange_weak(now, loop * kLoop + after, std::memory_order_relaxed))
        return next;
    }
  }
  // Whether somebody may need help. Each share comes from another core's cache, so all of them
  // are asked for at once.
  bool may_be_left() const {
    bool left = false;
    for (const Share& share : shares)
      left |= share.taken.load(std::memory_order_relaxed) != loop * kLoop + kMostChunks;
    return left;
  }
  void drop_the_rest() {
    for (Share& share : shares)
      share.taken.store(loop * kLoop + kMostChunks, std::memory_order_relaxed);
  }
  // What a body threw, for the caller; the first if several did.
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;

  void work_on(size_t share, int thread) {
    for (size_t at; (at = take_from(share)) != kMostChunks;) {
      if (deadline != nullptr) Deadline::poll();
      fn(body, at * chunk, std::min(n, (at + 1) * chunk), thread);
    }
  }
  void work(int thread) noexcept {
    inside_loop = thread;
    try {
      const Deadline handed(deadline);
      work_on(size_t(thread), thread);
      const bool helps = may_be_left();
      for (int i = 1; i < threads && helps; ++i) work_on(size_t((thread + i) % threads), thread);
    } catch (...) {
      if (!failed.exchange(true, std::memory_order_relaxed)) thrown = std::current_exception();
      drop_the_rest();  // the others need not go on
    }
    inside_loop = -1;
  }

  void open_round(uint64_t state) {
    {
      const std::lock_guard lock(mutex);
      const uint64_t round = gate.load(std::memory_order_relaxed) / kRound + 1;
      gate.store(round * kRound + state, std::memory_order_release);
    }
    wake.notify_all();
  }
  void close_round() {
    gate.fetch_or(kClosed, std::memory_order_relaxed);
    const auto left = [&] { return gate.load(std::memory_order_acquire) % kClosed == 0; };
    if (spin_until(patience, left)) return;
    while (!left()) std::this_thread::yield();
  }
  // Goes inside, unless the round is closed or over.
  bool enter(uint64_t round) {
    uint64_t now = gate.load(std::memory_order_acquire);
    while (now / kRound == round && (now & kClosed) == 0) {
      if (gate.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) return true;
    }
    return false;
  }
  void leave() { gate.fetch_sub(1, std::memory_order_release); }

  void serve(int thread) {
    uint64_t seen = 0;
    const auto round = [&] { return gate.load(std::memory_order_acquire) / kRound; };
    while (true) {
      if (!spin_until(patience, [&] { return round() != seen; })) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return round() != seen; });
      }
      seen = round();
      if (stop) return;
      if (!enter(seen)) continue;
      work(thread);
      leave();
    }
  }
};

}  // namespace

struct Pool::State {
  const int threads;
  std::atomic<Crew*> crew;
};

Pool::Pool(int threads)
    : state_(new State{std::min(threads > 0 ? threads : allowed_cpus(), most_threads()), nullptr}) {
  state_->crew = new Crew(state_->threads);
}

Pool::~Pool() {
  // After a fork the workers are the parent's: there is nobody to join, and what they share is left
  // as it is.
  Crew* crew = state_->crew;
  if (crew->forks_before == forks.load(std::memory_order_relaxed)) delete crew;
}

namespace {

// Under a deadline a loop is cut into more pieces, between which it is looked at.
size_t piece_of(size_t n) {
  constexpr size_t kPieces = 256;
  return (n + kPieces - 1) / kPieces;
}

void alone(size_t n, size_t grain, Crew::Fn fn, void* body) {
  const int thread = std::max(0, inside_loop);
  if (Deadline::current() == nullptr || n <= grain) return fn(body, 0, n, thread);
  const size_t piece = std::max(grain, piece_of(n));
  for (size_t begin = 0; begin < n; begin += piece) {
    Deadline::poll();
    fn(body, begin, std::min(n, begin + piece), thread);
  }
}

}  // namespace

int Pool::threads() const { return state_->threads; }

void Pool::run(size_t n, size_t grain, Fn fn, void* body) {
  Crew* crew = state_->crew.load(std::memory_order_acquire);
  if (crew->forks_before != forks.load(std::memory_order_relaxed)) {
    // This process is a child of the one that hired them: a new crew, once.
    auto* fresh = new Crew(state_->threads);
    if (state_->crew.compare_exchange_strong(crew, fresh)) {
      crew = fresh;
    } else {
      delete fresh;
    }
  }
  Crew& s = *crew;
  grain = std::max<size_t>(grain, 1);
  if (n == 0) return;
  if (s.threads == 1 || n <= grain || inside_loop >= 0 ||
      s.busy.exchange(true, std::memory_order_acquire)) {
    alone(n, grain, fn, body);
    return;
  }
  s.fn = fn;
  s.body = body;
  s.n = n;
  // A few chunks per thread even out cores of unequal speed.
  const size_t pieces = std::min<size_t>(size_t(s.threads) * 4, Crew::kMostChunks - 1);
  const size_t even = (n + pieces - 1) / pieces;
  s.deadline = Deadline::current();
  s.chunk = std::max(grain, s.deadline == nullptr ? even : std::min(even, piece_of(n)));
  s.chunks = (n + s.chunk - 1) / s.chunk;
  s.loop = (s.loop + 1) % (~uint64_t{0} / Crew::kLoop);
  s.open_round(0);
  s.work(0);
  s.close_round();
  const bool failed = s.failed.exchange(false, std::memory_order_relaxed);
  const std::exception_ptr thrown = failed ? std::move(s.thrown) : nullptr;
  s.busy.store(false, std::memory_order_release);
  if (failed) std::rethrow_exception(thrown);
}

}  // namespace sdx
