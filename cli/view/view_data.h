// What `sardonyx view` shows of a model, as the JSON that its page reads: the graph as written and
// as it runs, with types, weights, findings, times and values.
//
// {"title", "facts": [[label, text]], "findings": [[severity, code, message]], "weights": [...],
//  "values": [...], "stages": [STAGE], "differences": [...]}
// STAGE: {"title", "graphs": [GRAPH]}; graph 0 is the main one, the others are bodies.
// GRAPH: {"name", "wires": [[name, type, how, weight, value]], "nodes": [NODE], "inputs": [wire],
//         "outputs": [wire]}; how: "input", "weight", "declared", "inferred", "unknown".
// NODE: {"op", "name", "in": [wire or -1], "out": [wire or -1], "attrs": [[name, text]],
//        "group": "a/b", "bodies": [[attribute, graph]], "findings": [...], "ms", "kernel",
//        "links": [node of the other stage], "mark": "gone" | "came" | "changed"}; what says
// nothing is left out.
#pragma once

#include "inputs.h"
#include "json.h"
#include "load.h"

namespace sdx::cli {

struct ViewRequest {
  std::string model, other;  // other: to compare with, or ""
  bool profile = false, run = false, optimized = true;
  EngineFlags engine;
  InputFlags inputs;
};

Result<Json> view_data(const ViewRequest& request);

}  // namespace sdx::cli
