// The versions that changed an operator's meaning, or its spelling in a way that no signature
// tells.
#pragma once

#include "opsets/use.h"

namespace sdx::opsets {

using Move = Status (*)(Use&);

// What is done to a node before the signatures of the two versions are compared: `up` for one that
// comes from the version before `since`, `down` for one that goes there. Where `since` is the first
// version of an operator, `down` makes another operator of it, and `up` is null. Null: nothing.
struct Step {
  std::string_view op;
  int since;
  Move up, down;
};

std::span<const Step> elementwise_steps();  // and what they broadcast
std::span<const Step> tensor_steps();
std::span<const Step> layer_steps();  // normalisations, pools, recurrent and quantised operators
const Step* find_step(std::string_view op, int since);

}  // namespace sdx::opsets
