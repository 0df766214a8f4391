#include "ops/control/bodies_of.h"

#include "ops/list.h"
#include "ops/microsoft/list.h"

namespace sdx::ops {

NamedBodies bodies_of(const Node& use, const void* resolved) {
  if (use.op == &if_) return bodies_of_if(resolved);
  if (use.op == &loop) return bodies_of_loop(resolved);
  if (use.op == &scan) return bodies_of_scan(resolved);
  if (use.op == &sequence_map) return bodies_of_sequence_map(resolved);
  if (use.op == &microsoft::beam_search || use.op == &microsoft::greedy_search ||
      use.op == &microsoft::sampling) {
    return bodies_of_generation(resolved);
  }
  return {};
}

}  // namespace sdx::ops
