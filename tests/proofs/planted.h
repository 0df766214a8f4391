// Planted bugs: copies of the planner with one mistake each, to see that the checker refuses what
// they make.
#pragma once

#include <string_view>
#include <vector>

#include "plan/memory.h"
#include "plan/plan.h"

namespace sdx::proofs {

struct Bug {
  std::string_view name;
  // Those of memory.cc or those of plan.cc, whichever has the mistake; the others are null.
  plan::Layout (*lay_out)(const plan::Plan&, const std::vector<bool>&);
  void (*place_wires)(plan::Plan&, const plan::Layout&);
  Result<plan::Plan> (*choose_steps)(typed::Graph, const plan::Options&, Pool&, plan::Packs*);
  void (*forget_packed)(plan::Plan&);
};
const std::vector<Bug>& bugs();

}  // namespace sdx::proofs
