// Pace: how many rows a run takes. No bit depends on that, so it is what is fastest: few rows stay
// in a core's cache from one step to the next, and processes beside each other then share no more
// than they must; many rows share one reading of weights that no cache holds. The rows that are to
// be scored tell, on the machine that scores them: sizes are tried from small to large, unless one
// was given.
#pragma once

#include <array>
#include <cstdint>

namespace sdx::cli::score {

class Pace {
 public:
  explicit Pace(int64_t given) : rows_(given != 0 ? given : kSizes[0]), settled_(given != 0) {}

  int64_t rows() const { return rows_; }
  bool settled() const { return settled_; }
  // What a run of so many rows took.
  void took(int64_t rows, double seconds);

 private:
  static constexpr std::array<int64_t, 3> kSizes = {4, 16, 64};
  static constexpr int kTimed = 3;  // runs of a size; one before them makes its plan
  // A size that is so much slower than a smaller one is not the way to a faster one.
  static constexpr double kMuchSlower = 1.25;

  int64_t rows_;
  bool settled_;
  size_t at_ = 0, best_ = 0;
  int runs_ = 0;
  double fastest_ = 0;                         // seconds of the fastest run of the size at hand
  std::array<double, kSizes.size()> row_s_{};  // seconds of a row, by size
};

}  // namespace sdx::cli::score
