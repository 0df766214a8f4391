// SDX_EACH_APART before a loop: what an iteration writes may lie where the same iteration has read,
// but no other does, so a compiler need not test for it before it makes vectors.
#pragma once

#if defined(__clang__)
#define SDX_EACH_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define SDX_EACH_APART _Pragma("GCC ivdep")
#endif
