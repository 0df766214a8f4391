// Deadline: when the work of this thread must end. Whoever sets a limit holds a Deadline for its
// time; long loops ask poll(), which throws TimeIsUp once the time has come or the caller wants it
// to stop. Pools hand it on to their workers and ask between the pieces of a loop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sdx {

// Ends the operator at work; whoever runs it tells it apart from its errors.
struct TimeIsUp {};

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // Until the end of the block, beside what holds around it.
  Deadline(Clock::time_point at, const std::atomic<bool>* stop);
  // What another thread holds, handed on; null: nothing.
  explicit Deadline(const Deadline* other);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  static const Deadline* current();
  // Whether it is time to end.
  bool reached() const;
  // Throws TimeIsUp if this thread has a deadline and it is reached.
  static void poll() {
    if (const Deadline* held = current(); held != nullptr && held->reached()) throw TimeIsUp{};
  }
  // The same for steps of a few nanoseconds, or so many of them: looks at the clock, and counts,
  // once in some thousand.
  static void step(size_t amount = 1) {
    static thread_local size_t steps = 0;
    steps += amount;
    if (steps < kSteps) return;
    count(steps / kSteps);
    steps = 0;
    poll();
  }

  // Until the end of the block, or that of another around it, this thread may go so many steps.
  class Steps {
   public:
    explicit Steps(uint64_t steps);
    ~Steps();
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    // Whether TimeIsUp was thrown because there were more.
    static bool spent();

   private:
    uint64_t left_;
    const bool outermost_;
    friend class Deadline;
  };

 private:
  static constexpr size_t kSteps = 4096;
  static void count(uint64_t thousands);

  Clock::time_point at_ = Clock::time_point::max();
  const std::atomic<bool>* stop_ = nullptr;
  const Deadline* outer_ = nullptr;
  const Deadline* before_;
};

}  // namespace sdx
