// Versions of an operator that mean the same.
#pragma once

#include "model/model.h"

namespace sdx::check {

// Whether the node computes the same in two versions of its operator set, which may differ in the
// element types that they allow.
bool same_meaning(const model::Node& node, int64_t a, int64_t b);

}  // namespace sdx::check
