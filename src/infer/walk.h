// The walk over a model: names become wires, functions are inlined where they are called, subgraphs
// are held ready with what they capture.
#pragma once

#include "infer/solver.h"
#include "infer/typing.h"

namespace sdx::infer {

// The code of a model that a net cannot hold: what stands in a node's place depends on its types.
inline constexpr std::string_view kForwardsOnly = "SDX-G0015";

// All nodes of the model's graph, into the sink; its wires by name.
Result<Wires> walk_model(const std::shared_ptr<const model::Model>& model, const Options& options,
                         Sink& sink);

// Types that a graph states for its values.
std::vector<Stated> stated(const model::Graph& graph, const Wires& wires);

}  // namespace sdx::infer
