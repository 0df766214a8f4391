// The walk over a model: names become wires, functions are inlined where they are called, subgraphs
// are held ready with what they capture.
#pragma once

#include "infer/names.h"
#include "infer/solver.h"
#include "infer/typing.h"

namespace sdx::infer {

// The code of a model that a net cannot hold: what stands in a node's place depends on its types.
inline constexpr std::string_view kForwardsOnly = "SDX-G0015";

struct GraphArgument;
using GraphArguments = std::map<std::string, std::shared_ptr<const GraphArgument>, std::less<>>;

// Names that are visible at one place, and the opsets that nodes there mean.
struct Scope {
  Wires wires;
  const Opsets* opsets = nullptr;
  const AttrMap* arguments = nullptr;  // attributes of the function call being inlined
  GraphArguments graphs;               // those of them that are graphs
  std::string path;                    // "graph \"main\"" and the calls on the way here
  std::vector<const model::Function*> calls;
  size_t depth = 0;  // functions and subgraphs around this place
};

// A graph that a function is given. It means what it says where it is written: the function sees
// the wires that it captures there under names that begin with `mark`.
struct GraphArgument {
  const model::Graph* graph = nullptr;
  std::vector<std::string> captured;
  std::string mark;
  Opsets opsets;
  AttrMap arguments;
  GraphArguments graphs;
  std::string path;
  std::vector<const model::Function*> calls;
};

// All nodes of a graph, into the sink. `place`: of a subgraph, through the graphs around it.
Status walk_graph(const std::shared_ptr<const model::Model>& model, const model::Graph& graph,
                  const std::string& place, const Options& options, Sink& sink, Scope& scope);

// All nodes of the model's graph, into the sink; its wires by name.
Result<Wires> walk_model(const std::shared_ptr<const model::Model>& model, const Options& options,
                         Sink& sink);

// Types that a graph states for its values.
std::vector<Stated> stated(const model::Graph& graph, const Wires& wires);

}  // namespace sdx::infer
