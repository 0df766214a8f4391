// Single numbers, as every level's kernels need them.
#pragma once

#include <cstddef>

#include "kernel/simd/soft.h"

namespace sdx::SDX_ISA {

SDX_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

// The one NaN that leaves a kernel, as lanes::canonical gives it.
SDX_INLINE float canonical(float x) { return x == x ? x : __builtin_nanf(""); }

}  // namespace sdx::SDX_ISA
