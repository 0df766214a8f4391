// Whether two nodes use an operator in the same way.
#pragma once

#include "op/node.h"

namespace sdx::typed {

// The same version, attributes and outputs of one operator: from the same facts both make the same.
bool same_use(const sdx::Node& a, const sdx::Node& b);

}  // namespace sdx::typed
