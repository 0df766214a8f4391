// Numbers of JSON as elements of tensors, each read straight to its type.
#pragma once

#include <simdjson.h>

#include "serve/oip/request.h"

namespace sardonyx::serve {

// The elements of `data`, flat or nested in the form of the shape. At most `most` elements are
// believed before they are seen.
Outcome<Tensor> read_json_elements(simdjson::ondemand::value data, Type type, const Dims& dims,
                                   std::string_view name, size_t most);

}  // namespace sardonyx::serve
