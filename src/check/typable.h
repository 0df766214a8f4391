// Whether a model that breaks rules can be typed all the same.
#pragma once

#include "check/report.h"

namespace sdx::check {

// What is broken, if anything, are rules that typing does not rest on.
bool can_be_typed(const Report& report);
// What keeps this build from running the model becomes an error.
void require_runnable(Report& report);

}  // namespace sdx::check
