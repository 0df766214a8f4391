// Repairs of a model that change no answer: what a profile asks for and an exporter left undone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "check/check.h"
#include "model/model.h"

namespace sdx::check {

struct Fixed {
  model::Model model;
  std::vector<std::string> journal;  // what was done, a sentence each
};

struct FixOptions {
  size_t most_nodes = size_t{4} << 20;  // after inlining: nested functions can grow exponentially
  Profile profile = Profile::sonnx;     // whose rules the model shall keep
  // Inputs and outputs of the model may get other names, which callers would have to follow.
  bool rename = false;
};

// What deviates from a rule of ONNX and has one meaning all the same (check/accept) is written by
// that meaning, and nodes are sorted. For SONNX, functions are inlined, dead nodes and initializers
// removed, outputs that nobody reads left out where they are optional, and names made C
// identifiers, each once; for sonnx-full, attributes are given their defaults. Inputs and outputs
// keep their order, and their names too unless `rename` is set; then those that are no identifiers
// get others, and an input that is itself an output is given through an Identity under a name of
// its own.
Result<Fixed> fix(const model::Model& model, const FixOptions& options = {});

}  // namespace sdx::check
