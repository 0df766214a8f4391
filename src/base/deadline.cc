#include "base/deadline.h"

namespace sdx {
namespace {
thread_local const Deadline* held = nullptr;
}  // namespace

Deadline::Deadline(Clock::time_point at, const std::atomic<bool>* stop)
    : at_(at), stop_(stop), outer_(held), before_(held) {
  held = this;
}

Deadline::Deadline(const Deadline* other) : outer_(other), before_(held) {
  held = other == nullptr ? nullptr : this;
}

Deadline::~Deadline() { held = before_; }

const Deadline* Deadline::current() { return held; }

bool Deadline::reached() const {
  for (const Deadline* one = this; one != nullptr; one = one->outer_) {
    if (one->stop_ != nullptr && one->stop_->load(std::memory_order_relaxed)) return true;
    if (one->at_ != Clock::time_point::max() && Clock::now() >= one->at_) return true;
  }
  return false;
}

}  // namespace sdx
