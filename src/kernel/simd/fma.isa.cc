// The fused multiply-add of levels that have no instruction for it. A call, for it is some thirty
// instructions that would otherwise stand at hundreds of places.
#include "kernel/simd/native.h"

namespace sdx::SDX_ISA {

#if defined(SDX_SOFT_FMA)
F32 fma(F32 a, F32 b, F32 c) { return soft::fma(a, b, c); }
#endif

}  // namespace sdx::SDX_ISA
