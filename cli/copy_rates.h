// CopyRates: how fast this machine copies, measured for arrays of growing size: the bound of a step
// that computes little. What fits into a cache is copied faster than memory allows.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/pool.h"

namespace sdx::cli {

class CopyRates {
 public:
  // With all threads of the pool.
  explicit CopyRates(Pool& pool);

  // The least time to read and write as many bytes in all, those of the next smaller array that was
  // measured, which may lie in a faster cache.
  double milliseconds(double bytes) const;
  // GB/s, bytes read and bytes written counted both.
  double slowest() const;
  double fastest() const;

 private:
  struct Measured {
    size_t bytes;  // read and written in all
    double rate;   // bytes per nanosecond
  };
  std::vector<Measured> sizes_;  // ascending
};

}  // namespace sdx::cli
