// Keys: floats as integers in the order of sorting, and the search for the great ones among many.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

SDX_DECLARE_ISAS(
    // keys[i] grows with x[i], or falls if not `largest`: -0 as +0, NaN above all numbers.
    void order_keys(const float* x, size_t n, bool largest, int32_t* keys);
    // The first place from `from` on, in steps of sixteen, at which one of sixteen keys is above
    // the bar; where fewer than sixteen are left, the first of those.
    size_t next_above(const int32_t* keys, size_t from, size_t n, int32_t bar);)

}  // namespace sdx
