// compare with something else: another model, or the outputs that another engine wrote.
#pragma once

#include "inputs.h"
#include "judge.h"

namespace sdx::cli {

struct CompareWith {
  std::string model, other;  // two files
  std::string folder;        // or files of outputs and wires
  Tolerance tolerance;
  bool json = false;
  EngineFlags engine;
  InputFlags inputs;
};

// Whether every output lies within the tolerance; prints each output, and the first wire that does
// not.
Result<bool> compare_with(const CompareWith& asked);

}  // namespace sdx::cli
