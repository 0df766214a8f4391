// Operator-set documents: files that begin with "ONNXOPSET" and say which operators a set has.
#pragma once

#include <string>

#include "base/result.h"

namespace sdx::cli {

bool is_operator_set(const std::string& path);
// The set, then a line per operator and function, on stdout.
Status print_operator_set(const std::string& path);

}  // namespace sdx::cli
