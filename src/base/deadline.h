// Deadline: when the work of this thread must end. Whoever sets a limit holds a Deadline for its
// time; long loops ask poll(), which throws TimeIsUp once the time has come or the caller wants it
// to stop. Pools hand it on to their workers and ask between the pieces of a loop.
#pragma once

#include <atomic>
#include <chrono>

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
  // The same for steps of a few nanoseconds: looks at the clock once in some thousand calls.
  static void step() {
    constexpr unsigned kSteps = 4096;
    static thread_local unsigned steps = 0;
    if (++steps % kSteps == 0) poll();
  }

 private:
  Clock::time_point at_ = Clock::time_point::max();
  const std::atomic<bool>* stop_ = nullptr;
  const Deadline* outer_ = nullptr;
  const Deadline* before_;
};

}  // namespace sdx
