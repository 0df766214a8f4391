// The passes of the optimiser, watched one by one.
#pragma once

#include <functional>

#include "rewrite/rewrite.h"

namespace sdx::rewrite {

// Told of every pass: the graph before it and the one it made.
using Watch = std::function<void(const typed::Graph& before, const typed::Graph& after)>;

Result<typed::Graph> optimize(const typed::Graph& graph, const Watch& watch, Isa isa);

}  // namespace sdx::rewrite
