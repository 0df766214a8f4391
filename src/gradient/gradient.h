// Gradient: derivatives of a typed graph by reverse mode, as more nodes of the same graph.
#pragma once

#include <span>
#include <vector>

#include "typed/graph.h"

namespace sdx::gradient {

// For each x: the derivative of the sum of y's elements by x, a wire of x's type and shape that is
// added to the graph. xs must be independent of each other. Since the result is made of ordinary
// operators, it can be differentiated again. An operator between xs and y without a rule is an
// error that names it.
Result<std::vector<typed::Outlet>> differentiate(typed::Graph& graph, typed::Outlet y,
                                                 std::span<const typed::Outlet> xs);

}  // namespace sdx::gradient
