// A few columns joined into rows, and rows dealt out into columns, for elements of 1, 2, 4 and 8
// bytes.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// There are two to so many columns.
inline constexpr size_t kMostColumns = 4;

// join_columns: to[i * columns + c] = from[c][i]; deal_columns: to[c][i] = from[i * columns + c].
// What is written does not overlap what is read.
SDX_DECLARE_ISAS(void join_columns(size_t size, size_t columns, const void* const* from, void* to,
                                   size_t n);
                 void deal_columns(size_t size, size_t columns, const void* from, void* const* to,
                                   size_t n);)

}  // namespace sdx
