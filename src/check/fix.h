// Repairs of a model that change no answer: what a profile asks for and an exporter left undone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sdx::check {

struct Fixed {
  model::Model model;
  std::vector<std::string> journal;  // what was done, a sentence each
};

struct FixOptions {
  size_t most_nodes = size_t{4} << 20;  // after inlining: nested functions can grow exponentially
};

// What deviates from a rule and has one meaning all the same (check/accept) is written by that
// meaning. Functions are inlined, nodes sorted, dead nodes and initializers removed, outputs that
// nobody reads left out where they are optional, inputs kept apart from outputs by Identity,
// attributes given their defaults, and names made C identifiers, each once. Inputs and outputs keep
// their order; their names change only if they are no identifiers.
Result<Fixed> fix(const model::Model& model, const FixOptions& options = {});

}  // namespace sdx::check
