#include "score/pace.h"

#include <algorithm>

namespace sdx::cli::score {

size_t Pace::fastest(size_t count) const {
  const auto faster = [](const Size& a, const Size& b) { return a.row_s < b.row_s; };
  return size_t(std::min_element(sizes_.begin(), sizes_.begin() + count, faster) - sizes_.begin());
}

void Pace::took(int64_t rows, double seconds) {
  if (settled_ || rows != rows_) return;  // the last rows of a part may be fewer
  Size& size = sizes_[at_];
  if (!size.has_a_plan) {
    size.has_a_plan = true;
    return;
  }
  size.row_s = std::min(size.row_s, seconds / static_cast<double>(rows));
  // Not judged in the first turn, which may have been a slow moment.
  if (turn_ > 0 && at_ > 0 && size.row_s > sizes_[fastest(at_)].row_s * kMuchSlower)
    tried_ = at_ + 1;
  if (++at_ >= tried_) {
    at_ = 0;
    settled_ = ++turn_ == kTurns;
  }
  if (settled_) at_ = fastest(kSizes.size());
  rows_ = kSizes[at_];
}

}  // namespace sdx::cli::score
