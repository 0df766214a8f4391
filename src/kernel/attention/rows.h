// rows: the softmax of one query's scores and the weighted sum of the values, with the bits of
// ops/attention/attention.cc.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// row[j], j in [first, last), becomes exp(row[j] - max) / sum, the sum by lanes over j; -inf
// everywhere gives zeros. Elements before `first` down to a multiple of 16 are overwritten.
SDX_DECLARE_ISAS(void attention_softmax(float* row, size_t first, size_t last);)
// y[d] = the chain of fma over j in [first, last), ascending, of p[j] * v[j * ldv + d], d < size;
// NaN made canonical.
SDX_DECLARE_ISAS(void attention_values(const float* p, size_t first, size_t last, const float* v,
                                       size_t ldv, size_t size, float* y);)

}  // namespace sdx
