// Packing: the weights of a plan as its kernels read them, step after step.
#pragma once

#include "plan/plan.h"

namespace sdx::plan {

// Packs what the steps' kernels pack of their constant inputs, unless `packs` has it. Without
// `packs` there will be no other plan: constants that nobody needs any more then go at once, so
// that weights are hardly ever held twice, and weights that each run reads but a few times may stay
// where they are.
void pack_weights(Plan& plan, Pool& pool, Packs* packs);

}  // namespace sdx::plan
