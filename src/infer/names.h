// Who means what by a name: operator-set imports, functions, and the outer names that a subgraph
// uses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model.h"

namespace sdx::infer {

// Domain ("" for ai.onnx) to version.
using Opsets = std::map<std::string, int64_t, std::less<>>;
Opsets opsets_of(const std::vector<model::OpsetId>& imports);

// The function that the node calls, the model's or an added one; null if it names an operator.
const model::Function* find_function(const model::Model& model, const model::Node& node);

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
