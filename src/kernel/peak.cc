#include "kernel/peak.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace sdx {
namespace {

template <class Work>
double nanoseconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

double peak_gflops([[maybe_unused]] Isa isa) {
  const auto run = SDX_PICK(run_multiply_adds, isa);
  double best = 0, done = 0;
  for (int round = 0; round < 20; ++round) {
    float keep[32];
    std::fill(keep, keep + 32, 0.5f);
    const double took = nanoseconds([&] { done = run(50000, keep); });
    best = std::max(best, 2 * done / took);
  }
  return best;
}

double peak_gbytes(Pool& pool) {
  constexpr size_t kBytes = size_t(64) << 20, kChunk = size_t(1) << 20;
  std::vector<char> from(kBytes, 1), to(kBytes, 2);
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const double took = nanoseconds([&] {
      pool.parallel(kBytes / kChunk, 1, [&](size_t begin, size_t end, int) {
        std::memcpy(to.data() + begin * kChunk, from.data() + begin * kChunk,
                    (end - begin) * kChunk);
      });
    });
    best = std::max(best, 2 * double(kBytes) / took);
  }
  return best;
}

}  // namespace sdx
