// Drawings of a typed graph: boxes for inputs, operators and outputs, arrows for wires, with types.
#pragma once

#include <string>

#include "typed/graph.h"

namespace sdx::cli {

// For Graphviz.
std::string to_dot(const typed::Graph& graph);
// Laid out here, in layers from the inputs down; needs no other program.
std::string to_svg(const typed::Graph& graph);

}  // namespace sdx::cli
