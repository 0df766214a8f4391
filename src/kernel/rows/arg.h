// Where the greatest (or least) element lies, along rows and down columns of floats: the first of
// equals, or the last; the first (last) NaN, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

struct ArgKind {
  bool least, last;
};

SDX_DECLARE_ISAS(
    // Of n elements, 1 to 2^31.
    int64_t arg_of_row(const ArgKind&, const float* x, size_t n);
    // Of `rows` rows, 1 to 2^31 of them, `step` floats apart: for each of some columns.
    void arg_of_columns(const ArgKind&, const float* x, size_t rows, size_t step, size_t columns,
                        int64_t* y);)

}  // namespace sdx
