#include "copy_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sdx::cli {
namespace {

double nanoseconds() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Each thread copies its own part, again and again, so that the parts stay where they fit.
double rate_of(size_t bytes, Pool& pool) {
  const auto threads = static_cast<size_t>(pool.threads());
  const size_t part = std::max<size_t>(64, bytes / 2 / threads);
  std::vector<char> from(part * threads, 1), to(part * threads, 2);
  constexpr double kEnough = 1e6;  // nanoseconds of copying per measurement
  size_t times = 1;
  double best = 0;
  for (int round = 0; round < 8; ++round) {
    const double start = nanoseconds();
    pool.parallel(threads, 1, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        for (size_t again = 0; again < times; ++again)
          std::memcpy(to.data() + i * part, from.data() + i * part, part);
      }
    });
    const double took = std::max(1.0, nanoseconds() - start);
    best = std::max(best, 2.0 * double(part * threads) * double(times) / took);
    if (took < kEnough) times = std::min<size_t>(1 << 16, times * 4);
  }
  return best;
}

}  // namespace

CopyRates::CopyRates(Pool& pool) {
  constexpr size_t kSmallest = size_t{16} << 10, kLargest = size_t{128} << 20;
  for (size_t bytes = kSmallest; bytes <= kLargest; bytes *= 8)
    sizes_.push_back({bytes, rate_of(bytes, pool)});
  // A larger array is never copied faster: what says so is noise.
  for (size_t i = sizes_.size() - 1; i-- > 0;)
    sizes_[i].rate = std::max(sizes_[i].rate, sizes_[i + 1].rate);
}

double CopyRates::milliseconds(double bytes) const {
  const Measured* taken = &sizes_.front();
  for (const Measured& one : sizes_) {
    if (double(one.bytes) <= bytes) taken = &one;
  }
  return bytes / taken->rate * 1e-6;
}

double CopyRates::slowest() const { return sizes_.back().rate; }
double CopyRates::fastest() const { return sizes_.front().rate; }

}  // namespace sdx::cli
