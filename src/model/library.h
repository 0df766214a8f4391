// Functions that a program adds while it runs: a node may call them as if its model held them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/model.h"

namespace sdx::model {

// Kept as long as the process lives. Refused if the function has no name or domain, or one with its
// name and overload was added before.
Status add_function(Function function);

// The function that the node would call; null if none was added.
const Function* find_added_function(const Node& node);
// Whether a function of this domain was added.
bool has_added_functions(std::string_view domain);

}  // namespace sdx::model
