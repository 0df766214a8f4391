// Equalities of symbols that a node requires: a product of [N,K] and [M,P] needs K == M.
#pragma once

#include "fact/assume.h"
#include "op/op.h"

namespace sdx::infer {

bool has_symbols(const Fact& fact);

// Asks the operator's rule: with all sizes equal it is content, with one of two changed it is not,
// with both changed alike it is again, and a 1 (a broadcast) is no way out.
void learn_equalities(const sdx::Node& use, const Facts& in, Assumptions& assumptions);

}  // namespace sdx::infer
