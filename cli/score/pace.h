// Pace: how many rows a run takes. No bit depends on that, so it is what is fastest: few rows stay
// in a core's cache from one step to the next, and processes beside each other then share no more
// than they must; many rows share one reading of weights that no cache holds. The rows that are to
// be scored tell, on the machine that scores them: sizes are tried in turns, from small to large,
// unless one was given. In turns, because a machine is slow for a moment now and then, above all
// where many processes start at once, and a size that was tried only then would be thought slow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

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
  static constexpr int kTurns = 4;
  // A size that is so much slower than a smaller one is not the way to a faster one.
  static constexpr double kMuchSlower = 1.25;

  struct Size {
    bool has_a_plan = false;                                 // the first run of a size makes it
    double row_s = std::numeric_limits<double>::infinity();  // seconds of a row, in its fastest run
  };

  // The fastest of the first so many sizes.
  size_t fastest(size_t count) const;

  int64_t rows_;
  bool settled_;
  int turn_ = 0;
  size_t at_ = 0, tried_ = kSizes.size();
  std::array<Size, kSizes.size()> sizes_{};
};

}  // namespace sdx::cli::score
