// The typed subgraphs that a node holds, for those who look at plans.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "op/op.h"

namespace sdx::ops {

using NamedBodies = std::vector<std::pair<std::string_view, const Body*>>;

// By attribute; those that were typed. `resolved` is what the operator's read() made of `use`.
NamedBodies bodies_of(const Node& use, const void* resolved);

// One per operator with subgraphs.
NamedBodies bodies_of_if(const void* resolved);
NamedBodies bodies_of_loop(const void* resolved);
NamedBodies bodies_of_scan(const void* resolved);
NamedBodies bodies_of_sequence_map(const void* resolved);
NamedBodies bodies_of_generation(const void* resolved);

}  // namespace sdx::ops
