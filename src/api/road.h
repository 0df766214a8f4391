// The stages of the road, each a function from the value of the stage before to its own, with what
// CompileOptions say of it. Whoever needs all of them drives them in road.cc.
#pragma once

#include "api/engine.h"

namespace sdx::road {

// Which of ONNX's rules it keeps, and that every operator is here.
Result<check::Checked> check(std::shared_ptr<const model::Model> model);
// What is known of every wire. With `thorough`, all that can be learnt is, the reasons are kept,
// and declared types are compared: what people want to see, and a run does not need.
Result<infer::Inferred> infer(const check::Checked& checked, const CompileOptions& options,
                              bool thorough = false);
// Nodes and wires, each with one fact.
typed::Graph type(infer::Inferred inferred);
// The same answers by fewer and faster operations.
Result<rewrite::Rewritten> rewrite(const typed::Graph& graph, const CompileOptions& options);
// Order, kernels, packed weights and memory. `file`: of the model, "" if it has none.
Result<std::shared_ptr<const plan::Compiled>> plan(rewrite::Rewritten rewritten,
                                                   const std::string& file,
                                                   const CompileOptions& options);

}  // namespace sdx::road
