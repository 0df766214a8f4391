// Attributes of the model as values that operators read.
#pragma once

#include <optional>

#include "model/model.h"
#include "op/signature.h"

namespace sdx::infer {

// The value of an attribute that is no graph. `arguments`: attributes of the call whose function
// body this stands in, for attributes that refer to them; a reference to one that the caller left
// out gives nothing.
Result<std::optional<AttrValue>> attribute_value(const model::Attribute& attribute,
                                                 const AttrMap* arguments);

}  // namespace sdx::infer
