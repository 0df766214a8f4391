// What is counted of a model, by relaxed atomic additions: always on, and cheap enough for that.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace sardonyx::serve {

using Clock = std::chrono::steady_clock;

inline void add(std::atomic<uint64_t>& to, uint64_t amount = 1) {
  to.fetch_add(amount, std::memory_order_relaxed);
}

// A sum, a count, and how many were at most 1, 2, 4 ... microseconds: buckets as Prometheus wants.
class Histogram {
 public:
  static constexpr size_t kBuckets = 26;  // up to 2^25 us = 34 s; one more for the rest

  void record(uint64_t ns) {
    const uint64_t us = (ns + 999) / 1000;
    const size_t bucket = us <= 1 ? 0 : static_cast<size_t>(64 - __builtin_clzll(us - 1));
    add(buckets_[bucket < kBuckets ? bucket : kBuckets]);
    add(sum_ns_, ns);
  }
  uint64_t bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  uint64_t sum_ns() const { return sum_ns_.load(std::memory_order_relaxed); }
  uint64_t count() const {
    uint64_t count = 0;
    for (const auto& bucket : buckets_) count += bucket.load(std::memory_order_relaxed);
    return count;
  }
  // The least bound that a fraction of all stays under, in microseconds.
  double quantile_us(double fraction) const {
    const double wanted = fraction * static_cast<double>(count());
    double seen = 0;
    for (size_t i = 0; i <= kBuckets; ++i) {
      seen += static_cast<double>(bucket(i));
      if (seen >= wanted) return static_cast<double>(uint64_t{1} << i);
    }
    return 0;
  }

 private:
  std::array<std::atomic<uint64_t>, kBuckets + 1> buckets_{};
  std::atomic<uint64_t> sum_ns_{0};
};

struct Statistics {
  std::atomic<uint64_t> failed{0}, rejected{0}, cancelled{0}, expired{0};
  std::atomic<uint64_t> rows{0};        // of all requests
  std::atomic<uint64_t> executions{0};  // runs of the engine; fewer than requests where they batch
  Histogram request, queue, compute;    // of those that succeeded
  std::atomic<uint64_t> last_ms{0};     // since 1970, of the last request
};

}  // namespace sardonyx::serve
