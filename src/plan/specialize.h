// specialize: a rewritten graph with its symbols bound.
#pragma once

#include "plan/lasting.h"
#include "plan/plan.h"

namespace sdx::plan {

// What stands for the rank of input i, and for its sizes, where the graph does not even know the
// rank.
std::string rank_symbol(size_t input);
std::string size_symbol(size_t input, size_t axis);
// What stands for the element type of input i where the graph leaves it open.
std::string type_symbol(size_t input);
// What stands for a size of an input that is an expression of sizes that no input has.
std::string expression_symbol(const Dim& dim);

// What input `i` is under the bindings.
Fact bound_input(Fact fact, size_t input, const Bindings& bindings);

// How a graph was specialised: what the nodes of the rewritten graph became, and those of branches
// that took their node's place. What was folded into constants is here too.
struct Trace {
  struct Entry {
    const typed::Node* from;
    std::vector<typed::Outlet> inputs, outputs;  // in `made`; no outputs: which branch was taken
    bool folded;
  };
  typed::Graph made;  // with nodes that nothing needs
  std::vector<Entry> entries;
  std::vector<uint32_t> moved;  // by node of `made`: where it is in the specialised graph
  std::vector<std::shared_ptr<const rewrite::Rewritten>> branches;  // kept for `from`
  bool whole = true;  // false: a branch was typed for these sizes alone
};

// The graph with its inputs' symbols bound: every node made again on the concrete facts, shape
// arithmetic folded away, and the nodes of the subgraph that is known to run in the place of the
// node that holds it.
Result<typed::Graph> specialize(const rewrite::Rewritten& rewritten, const Bindings& bindings,
                                Trace& trace, Lasting& lasting);
// The same for one set of sizes, of which no other will be made.
Result<typed::Graph> specialize(const rewrite::Rewritten& rewritten, const Bindings& bindings);

}  // namespace sdx::plan
