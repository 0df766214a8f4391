// Branches: whether a node that runs one of its subgraphs gives the same for other sizes.
//
// A merged decoder is one If around two models that capture hundreds of wires. Where its subgraphs
// last (plan/lasting.h), all that other sizes can change of the node is what its outputs are: the
// sizes that every subgraph gives, and open ones where they differ, as they do where one of them
// has a past and the other has none. A few integers tell that without typing the node again.
#pragma once

#include "plan/grow/formulas.h"

namespace sdx::plan {

class Branches {
 public:
  // `outputs`: of each of the plan's node's subgraphs, with symbols.
  Branches(const typed::Node& node, const std::vector<const Facts*>& outputs, Formulas& formulas);

  // Whether the node's outputs for these sizes are what they are in the plan. False where that is
  // not known.
  bool give_same(const Formulas::Values& values) const;

 private:
  // Outputs that have the same sizes in each subgraph, and in the plan.
  struct Kind {
    std::vector<std::vector<uint32_t>> shapes;  // one for each subgraph: the sizes' formulas
    std::vector<int64_t> planned;               // kOpen: not known
    bool operator==(const Kind&) const = default;
  };
  static constexpr int64_t kOpen = -1;
  bool add(const Fact& planned, uint32_t slot, const std::vector<const Facts*>& outputs,
           Formulas& formulas);

  bool plain_ = true;  // all outputs are tensors of known rank
  std::vector<Kind> kinds_;
};

}  // namespace sdx::plan
