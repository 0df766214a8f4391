// attention_values: the weighted sum of values for one query, where the keys that queries see
// differ.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// y[d] = the chain of fma over j in [first, last), ascending, of p[j] * v[j * ldv + d], d < size;
// from +0, or if `resume` from y[d]. A NaN is left as it comes.
SDX_DECLARE_ISAS(void attention_values(const float* p, size_t first, size_t last, const float* v,
                                       size_t ldv, size_t size, bool resume, float* y);)

}  // namespace sdx
