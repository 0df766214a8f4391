// The stages of the road, each a function from the value of the stage before to its own, with what
// CompileOptions say of it. Whoever needs all of them drives them in road.cc.
#pragma once

#include "api/engine.h"

namespace sdx::road {

// Which of ONNX's rules it keeps, what is accepted all the same, and that every operator is here.
Result<check::Checked> check(std::shared_ptr<const model::Model> model,
                             const CompileOptions& options);
// What is known of every wire. With `thorough`, all that can be learnt is, the reasons are kept,
// and declared types are compared: what people want to see, and a run does not need.
Result<infer::Inferred> infer(const check::Checked& checked, const CompileOptions& options,
                              bool thorough = false);
// Nodes and wires, each with one fact.
typed::Graph type(infer::Inferred inferred);
// The same answers by fewer and faster operations.
Result<rewrite::Rewritten> rewrite(const typed::Graph& graph, const CompileOptions& options);
// Order, kernels, packed weights and memory. `file`: of the model, "" if it has none; `notes`: what
// was said of it so far.
Result<std::shared_ptr<const plan::Compiled>> plan(rewrite::Rewritten rewritten,
                                                   const std::string& file,
                                                   const CompileOptions& options,
                                                   std::vector<std::string> notes = {});

}  // namespace sdx::road
