#include "kernel/math/activation.h"
#include "kernel/math/math.h"
#include "kernel/simd/scalar.h"

namespace sdx::math {

#define SDX_MATH_DEFINE(name) \
  float name(float x) { return lanes::name(one::F32(x)).v; }
SDX_MATH_FUNCTIONS(SDX_MATH_DEFINE)
#undef SDX_MATH_DEFINE

float pow(float x, float y) { return lanes::pow(one::F32(x), one::F32(y)).v; }

}  // namespace sdx::math
