// Which nodes run in which layout.
#pragma once

#include "rewrite/layout/ask.h"
#include "rewrite/layout/layout.h"

namespace sdx::rewrite {

// For each node what it runs as; none: as it stands.
using Choice = std::vector<std::optional<Relaid>>;

Choice choose(const typed::Graph& graph, Aim aim);

// The graph made anew so.
Result<typed::Graph> relay(const typed::Graph& graph, Choice choice);

}  // namespace sdx::rewrite
