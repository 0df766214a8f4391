// The proof that a changed model gives the answers of the one it was made from: both run on the
// same inputs, and their digests are compared.
#pragma once

#include "inputs.h"

namespace sdx::cli {

struct Answers {
  std::vector<std::string> before, after;  // digest lines without names, output by output
  bool equal() const { return before == after; }
};

// Inputs are those that `inputs` gives, drawn with seed 1 if it gives none, and by position: names
// may differ.
Result<Answers> answers_of(const std::shared_ptr<const model::Model>& before,
                           const std::shared_ptr<const model::Model>& after,
                           const InputFlags& inputs, const LimitFlags& limits);

}  // namespace sdx::cli
