// What the walk asks of names: those that a subgraph, or a part of a graph, takes from outside.
#pragma once

#include <string>
#include <vector>

#include "model/names.h"

namespace sdx::infer {

using model::Opsets;
using model::opsets_of;

// Names that the graph and its subgraphs use but do not define, in the order of first use, appended
// without repeats.
void free_names(const model::Graph& graph, std::vector<std::string>& into);

// Names of the function's attributes that nodes of the graph and its subgraphs refer to.
void referred(const model::Graph& graph, std::vector<std::string>& into);

// Which of the nodes before list[end] make `y` from the `independent` names; the other names that
// they use, and y if none of them makes it, are appended to `given`.
std::vector<bool> nodes_between(const std::vector<model::Node>& list, size_t end,
                                const std::vector<std::string>& independent, const std::string& y,
                                std::vector<std::string>& given);

}  // namespace sdx::infer
