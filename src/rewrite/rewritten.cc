#include "rewrite/rewritten.h"

#include "fact/assume.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"

namespace sdx::rewrite {

using typed::Graph;

Result<Rewritten> rewritten(const Graph& graph, const Rewrites& rewrites) {
  Graph ready = graph.without_dead();
  // What was found to hold of the symbols after a node was made counts for it too.
  if (graph.assumptions && !graph.assumptions->empty()) {
    SDX_ASSIGN(ready, typed::made_again(ready));
  }
  if (!rewrites.strict) {
    SDX_ASSIGN(ready, to_standard_numerics(ready));
  }
  if (rewrites.optimize) {
    SDX_ASSIGN(ready, optimize(ready, {}, rewrites.isa));
  }
  return Rewritten(std::move(ready), rewrites);
}

Result<Rewritten> Rewritten::inside(const Graph& subgraph) const {
  return rewritten(subgraph, rewrites_);
}

}  // namespace sdx::rewrite
