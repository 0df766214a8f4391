// Typed graphs drawn at random, rich in what makes a memory plan hard: views of views, joins of
// parts that others read too, results in place of inputs, programs inside of products, scratch
// memory, values whose size only a run tells, outputs that are inputs, constants, views or one
// another.
#pragma once

#include "typed/graph.h"

namespace sdx::proofs {

// The same graph for the same seed, everywhere.
Result<typed::Graph> random_graph(uint64_t seed);

}  // namespace sdx::proofs
