// Grow: the plan for other sizes, made from one that is there.
//
// A decoder's past grows by one each token, pictures and batches come in all sizes. Each new size
// needs facts, kernels and places for the few wires that have it; most of the plan is as it was.
// So the first plan of a graph is kept as a Base, with a trace of how it was specialised. For other
// sizes, constants that were folded from sizes are folded again by the trace; then the nodes that a
// change reaches are made again, one for all that do the same, and all others shared; steps of the
// former are chosen again; and the layout of memory, which leaves room, is shared as long as all
// fits. So a new size costs what it changes, and where the plan of an old size has gone out of use,
// not even the rest is copied. Where more than sizes would change (something folds that did not,
// another branch is taken, a kernel wants other packed weights), nothing is grown and the graph is
// planned anew.
#pragma once

#include <functional>

#include "plan/binder.h"
#include "plan/grow/alike.h"
#include "plan/grow/branches.h"
#include "plan/grow/course.h"
#include "plan/grow/formulas.h"
#include "plan/memory.h"
#include "plan/specialize.h"

namespace sdx::plan {

struct Base {
  // Of the plan that was made for the rewritten graph under the bindings.
  Base(const typed::Graph& rewritten, const Bindings& bindings, Trace made, Plan plan,
       Layout laid_out, size_t most_bytes);
  void use(Layout laid_out);
  // The steps of nodes, each once.
  std::vector<uint32_t> steps_of(std::span<const uint32_t> nodes) const;

  Trace trace;
  Plan unplaced;                         // steps without places, views among them
  std::shared_ptr<const Layout> layout;  // of the plan that was laid out last
  std::vector<uint32_t> moved;           // steps that in that plan are others than in this one
  std::vector<size_t> needed;            // entries of the trace that a constant or branch follows
  bool all_small;                        // no wire is of a size that has to be warranted
  // What of the plan's graph is the same for all sizes, in few bytes.
  Alike alike;
  Formulas formulas;
  std::map<uint32_t, Branches> branches;              // by node: of those whose subgraphs last
  std::vector<uint32_t> step_of;                      // by node; UINT32_MAX: none
  std::vector<uint32_t> sources;                      // the inputs' nodes
  std::vector<std::pair<uint32_t, uint32_t>> folded;  // constants, and their nodes of the trace
  std::vector<uint32_t> place_of_step;                // among those that are no views
  std::shared_ptr<Course> course;                     // of the newest plans, if they have one
  bool may_have_course = true;                        // false: more changes in plans of this layout
  int missed = 0;                                     // plans in a row that were not on it
};

// The plan for these sizes; none if it must be made anew. `open_inputs` tells the facts of the open
// inputs under the bindings, if formulas do not. A layout of more than `most_bytes` leaves no room.
// `spare` is a plan of the base's layout that nobody needs any more: only what has another size is
// written again.
Result<std::optional<Plan>> grown(Base& base, const std::function<OpenInputs()>& open_inputs,
                                  const Bindings& bindings, Pool& pool, size_t most_bytes,
                                  std::optional<Plan> spare);

}  // namespace sdx::plan
