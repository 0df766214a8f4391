// proved: what is proved of a model's plan and what is trusted, for its page (docs/proofs.md).
#pragma once

#include <string>

#include "model/model.h"
#include "plan/plan.h"

namespace sdx::cli {

// As HTML. `certificate` is the plan's text that the checker reads.
std::string proved(const model::Model& model, const plan::Plan& plan,
                   const std::string& certificate);

}  // namespace sdx::cli
