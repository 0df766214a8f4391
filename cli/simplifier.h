// The rules of sardonyx simplify. Each keeps every bit: none computes anything in another way.
#pragma once

#include "command.h"

namespace sdx::cli {

struct Simplified {
  model::Model model;
  // Nodes that became initializers, that only passed a value on, that did what another node does,
  // and that nobody read; weights that were there twice.
  size_t folded = 0, passed_on = 0, repeated = 0, dead = 0, shared = 0;
};

// `sizes` of the model's symbols become numbers in the declarations.
Result<Simplified> simplified(const std::shared_ptr<const model::Model>& model,
                              const Bindings& sizes, const LimitFlags& limits);

}  // namespace sdx::cli
