// Where in a text an error is: line, column, and the line itself with a caret beneath the place.
#pragma once

#include <string_view>

#include "base/result.h"

namespace sdx {

// Adds "FILE: line 3, column 7" ("line 3, column 7" without a file), the line and a caret.
Error at_place(Error error, std::string_view text, size_t at, std::string_view file = {});

}  // namespace sdx
