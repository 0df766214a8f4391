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

// The model-local function that the node calls; null if it names an operator.
const model::Function* find_function(const model::Model& model, const model::Node& node);

// Names that the graph and its subgraphs use but do not define, in the order of first use, appended
// without repeats.
void free_names(const model::Graph& graph, std::vector<std::string>& into);

}  // namespace sdx::infer
