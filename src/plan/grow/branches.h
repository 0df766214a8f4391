// Branches: whether a node that runs one of its subgraphs gives the same for other sizes.
//
// A merged decoder is one If around two models that capture hundreds of wires. Where its subgraphs
// last (plan/lasting.h), all that other sizes can change of the node is what its outputs are: the
// sizes that every subgraph gives, and open ones where they differ, as they do where one of them
// has a past and the other has none. A few integers tell that without typing the node again.
#pragma once

#include "typed/graph.h"

namespace sdx::plan {

class Branches {
 public:
  // `outputs`: of each of the node's subgraphs, with symbols.
  Branches(const typed::Node& node, const std::vector<const Facts*>& outputs);

  // Whether the node's outputs under the bindings are what they are in `outputs`, which it gives
  // under others. False where that is not known.
  bool give_same(const Facts& outputs, const Bindings& bindings) const;

 private:
  // Outputs whose sizes are the same in each subgraph.
  struct Kind {
    std::vector<const Shape*> shapes;  // one for each subgraph
    std::vector<uint32_t> slots;
  };
  bool add(uint32_t slot, const std::vector<const Facts*>& outputs);

  bool plain_ = true;  // all outputs are tensors of known rank
  std::vector<Kind> kinds_;
};

}  // namespace sdx::plan
