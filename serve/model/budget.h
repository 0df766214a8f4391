// Budget: the working memory that all runs of all models may hold together. A run's memory is
// counted before it is made; what does not fit waits until other runs have ended, and memory that
// sessions keep between runs is given up first.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

#include "serve/model/statistics.h"

namespace sardonyx::serve {

class Budget {
 public:
  explicit Budget(size_t bytes) : bytes_(bytes) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  bool on() const { return bytes_ > 0; }
  size_t bytes() const { return bytes_; }
  size_t used() const;

  // Counts so many bytes more, if need be after a while; false: not by then.
  bool take(size_t bytes, Clock::time_point until);
  void give(size_t bytes);

  // Who keeps memory between runs, and how it gives it up.
  void join(const void* owner, std::function<void()> give_up_idle);
  void leave(const void* owner);

 private:
  bool take_now(size_t bytes);

  const size_t bytes_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  size_t used_ = 0;  // guarded by mutex_
  std::mutex owners_mutex_;
  std::map<const void*, std::function<void()>> owners_;  // guarded by owners_mutex_
};

}  // namespace sardonyx::serve
