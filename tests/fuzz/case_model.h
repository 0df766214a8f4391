// Models of one node, made from the cases that operators declare.
#pragma once

#include <optional>

#include "model/model.h"
#include "op/op.h"

namespace sdx::fuzz {

// Inputs x0, x1 ... with the cases' types and shapes, outputs y0 ...; with `defaults`, the cases'
// tensors are initializers of the inputs. Nothing if the case has something that no model holds.
std::optional<model::Model> model_of(const Op& op, const Case& test, bool defaults);

}  // namespace sdx::fuzz
