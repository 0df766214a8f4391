// The Rewritten stage: a typed graph after the rules, ready to be planned.
#pragma once

#include "typed/graph.h"

namespace sdx::rewrite {

// Which rules a graph goes through.
struct Rewrites {
  bool optimize = true;     // those that keep every bit
  bool strict = false;      // none of those that do not
  Isa isa = Isa::portable;  // of kernels that make constants; no bit depends on it
};

// Only rewritten() makes one.
class Rewritten {
 public:
  const typed::Graph& graph() const { return graph_; }
  // The graph for whoever plans it once and for all; what inside() needs stays.
  typed::Graph take_graph() { return std::move(graph_); }
  // A subgraph of it, typed when its inputs became known, after the same rules.
  Result<Rewritten> inside(const typed::Graph& subgraph) const;

 private:
  friend Result<Rewritten> rewritten(const typed::Graph&, const Rewrites&);
  Rewritten(typed::Graph graph, const Rewrites& rewrites)
      : graph_(std::move(graph)), rewrites_(rewrites) {}

  typed::Graph graph_;
  Rewrites rewrites_;
};

Result<Rewritten> rewritten(const typed::Graph& graph, const Rewrites& rewrites = {});

}  // namespace sdx::rewrite
