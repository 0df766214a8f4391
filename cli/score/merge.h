// The end of a job: every row is there once, every file is what its manifest says, and the digest.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sdx::cli::score {

struct Merged {
  std::vector<std::string> lines;  // "NAME TYPE SHAPE SHA-256", by output
  size_t parts = 0;
  int64_t rows = 0;
  std::vector<Error> wrong;  // what is missing or damaged; then there are no lines
};

// The folders are of one job.
Result<Merged> merge(const std::vector<std::string>& folders);

}  // namespace sdx::cli::score
