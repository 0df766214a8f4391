// Known values: integers that follow from types alone are constants, and equal ones are one wire.
#pragma once

#include "typed/graph.h"

namespace sdx::rewrite {

Result<typed::Graph> with_known_values(typed::Graph graph);

}  // namespace sdx::rewrite
