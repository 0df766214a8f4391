// Evaluation of one operator by itself, on values: constants are folded, subgraphs and late shapes
// run through here.
#pragma once

#include <span>

#include "op/op.h"

namespace sdx::typed {

struct EvalOptions {
  Pool* pool = nullptr;   // null: the calling thread alone
  bool reference = true;  // the reference body; false: the first kernel that fits
  Isa isa = Isa::portable;
};

// Runs `use` on `inputs` (std::monostate where an optional input is left out); one value per output
// of `use`.
Result<std::vector<Value>> eval(const sdx::Node& use, std::span<const Value> inputs,
                                const EvalOptions& = {});

class Graph;

// Runs a whole graph node by node; `inputs` in the order of its sources, results in the order of
// its outputs.
Result<std::vector<Value>> eval(const Graph& graph, std::span<const Value> inputs,
                                const EvalOptions& = {});

}  // namespace sdx::typed
