#include "score/pace.h"

#include <algorithm>

namespace sdx::cli::score {

void Pace::took(int64_t rows, double seconds) {
  if (settled_ || rows != rows_) return;  // the last rows of a part may be fewer
  if (runs_++ == 0) return;
  fastest_ = runs_ == 2 ? seconds : std::min(fastest_, seconds);
  if (runs_ <= kTimed) return;
  row_s_[at_] = fastest_ / static_cast<double>(rows);
  if (row_s_[at_] < row_s_[best_]) best_ = at_;
  settled_ = at_ + 1 == kSizes.size() || row_s_[at_] > row_s_[best_] * kMuchSlower;
  at_ = settled_ ? best_ : at_ + 1;
  rows_ = kSizes[at_];
  runs_ = 0;
}

}  // namespace sdx::cli::score
