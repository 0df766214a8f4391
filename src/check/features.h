// What later versions of the intermediate representation introduced.
#pragma once

#include "model/model.h"

namespace sdx::check {

// The least IR version that has everything the model uses; 1 if it uses nothing special.
int64_t least_ir_version(const model::Model& model);

}  // namespace sdx::check
