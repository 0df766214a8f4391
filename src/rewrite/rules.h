// The rules, in the order in which they are tried.
#pragma once

#include "rewrite/rewrite.h"

namespace sdx::rewrite {

std::span<const Rule> rules();

}  // namespace sdx::rewrite
