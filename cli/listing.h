// The ONNX listing of a model: its graph as written, one line per node.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "fact/fact.h"
#include "model/names.h"

namespace sdx::cli {

// Types by the name of a value, shown after the nodes that make them; may be empty.
using Types = std::map<std::string, Fact, std::less<>>;
// Those of subgraphs.
using BodyTypes = std::map<const model::Graph*, Types>;

// "graph Test (\n  %I1[FLOAT, ?x?]\n) {\n  %O1 = Add(%I1, %I2)\n  return %O1\n}\n"; functions
// follow the graph.
std::string listing(const model::Model& model, const Types& types = {},
                    const BodyTypes& bodies = {});

using model::each_node;

}  // namespace sdx::cli
