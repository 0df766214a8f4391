#include "base/deadline.h"

namespace sdx {
namespace {
thread_local const Deadline* held = nullptr;
thread_local Deadline::Steps* counted = nullptr;
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

Deadline::Steps::Steps(uint64_t steps) : left_(steps / kSteps), outermost_(counted == nullptr) {
  if (outermost_) counted = this;
}

Deadline::Steps::~Steps() {
  if (outermost_) counted = nullptr;
}

bool Deadline::Steps::spent() { return counted != nullptr && counted->left_ == 0; }

void Deadline::count(uint64_t thousands) {
  if (counted == nullptr) return;
  counted->left_ -= counted->left_ < thousands ? counted->left_ : thousands;
  if (counted->left_ == 0) throw TimeIsUp{};
}

bool Deadline::reached() const {
  for (const Deadline* one = this; one != nullptr; one = one->outer_) {
    if (one->stop_ != nullptr && one->stop_->load(std::memory_order_relaxed)) return true;
    if (one->at_ != Clock::time_point::max() && Clock::now() >= one->at_) return true;
  }
  return false;
}

}  // namespace sdx
