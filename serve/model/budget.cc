#include "serve/model/budget.h"

#include <algorithm>

namespace sardonyx::serve {

size_t Budget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

bool Budget::take_now(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_ || used_ > bytes_ - bytes) return false;
  used_ += bytes;
  return true;
}

bool Budget::take(size_t bytes, Clock::time_point until) {
  if (bytes > bytes_) return false;
  while (!take_now(bytes)) {
    {
      const std::lock_guard lock(owners_mutex_);
      for (const auto& [owner, give_up_idle] : owners_) give_up_idle();
    }
    if (take_now(bytes)) return true;
    const auto now = Clock::now();
    if (now >= until) return false;
    // A session that falls idle holds memory still, and tells nobody: looked at now and then.
    std::unique_lock lock(mutex_);
    freed_.wait_until(lock, std::min(until, now + std::chrono::milliseconds(2)));
  }
  return true;
}

void Budget::give(size_t bytes) {
  if (bytes == 0) return;
  {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }
  freed_.notify_all();
}

void Budget::join(const void* owner, std::function<void()> give_up_idle) {
  const std::lock_guard lock(owners_mutex_);
  owners_[owner] = std::move(give_up_idle);
}

void Budget::leave(const void* owner) {
  const std::lock_guard lock(owners_mutex_);
  owners_.erase(owner);
}

}  // namespace sardonyx::serve
