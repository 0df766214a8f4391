// Operators that a program adds while it runs: found by find_op like those of the list.
#pragma once

#include <memory>

#include "op/op.h"

namespace sdx {

// Kept as long as the process lives, since graphs point to it. Refused if its history does not
// parse or an operator of this name exists.
Status add_op(std::shared_ptr<const Op> op);

const Op* find_added_op(std::string_view domain, std::string_view name);
// Whether an operator of this domain was added; its newest version then, else 0.
int64_t added_domain(std::string_view domain);

}  // namespace sdx
