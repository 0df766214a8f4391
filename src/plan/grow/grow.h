// Grow: the plan for other sizes, made from one that is there.
//
// A decoder's past grows by one each token, pictures and batches come in all sizes. Each new size
// needs facts, kernels and places for the few wires that have it; most of the plan is as it was.
// So the first plan of a graph is kept as a Base, with a trace of how it was specialised. For other
// sizes, constants that were folded from sizes are folded again by the trace; then the graph is
// made again, which shares every node whose inputs are what they were; steps of the others are
// chosen again; and the layout of memory, which leaves room, is shared as long as all fits. Where
// more than sizes would change (something folds that did not, another branch is taken, a kernel
// wants other packed weights), nothing is grown and the graph is planned anew.
#pragma once

#include "plan/memory.h"
#include "plan/specialize.h"

namespace sdx::plan {

struct Base {
  Base(Trace made, Plan plan, Layout laid_out);

  Trace trace;
  Plan unplaced;                  // steps without places, views among them
  Layout layout;                  // of the plan that was laid out last
  std::vector<bool> moved;        // by node: in that plan it is another than in this one
  std::vector<bool> needed;       // by entry of the trace: a constant or a branch follows
  std::vector<uint32_t> made_by;  // by node of the plan: the node of the trace
};

// The plan for these sizes; none if it must be made anew. `inputs` are the facts of the graph's
// inputs under the bindings. A layout of more than `most_bytes` leaves no room.
Result<std::optional<Plan>> grown(Base& base, const std::vector<Fact>& inputs,
                                  const Bindings& bindings, Pool& pool, size_t most_bytes);

}  // namespace sdx::plan
