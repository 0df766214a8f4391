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
  void (*place_wires)(plan::Plan&);  // one of the two is not null
  Result<plan::Plan> (*make_plan)(typed::Graph, const plan::Options&, Pool&, plan::Packs*);
};
const std::vector<Bug>& bugs();

}  // namespace sdx::proofs
