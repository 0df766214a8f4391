// Whether this build has every operator that a model uses.
#pragma once

#include "base/result.h"
#include "model/model.h"

namespace sdx::check {

// Operators (with their versions) that the model uses and this build does not have, one error that
// lists all of them.
Status all_supported(const model::Model& model);

// Of one operator, where it is met.
Error not_supported(std::string_view domain, std::string_view op);

}  // namespace sdx::check
