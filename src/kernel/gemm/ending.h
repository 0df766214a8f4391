// Ending: what may follow a product's element while it is still in a register, each step rounded
// and NaN canonical.
#pragma once

namespace sdx {

// + other, then what lies below `low` or above `high` becomes that. Relu has the bounds +0 and
// infinity. `low` is not -0, `high` is not 0, neither is NaN.
struct Ending {
  const float* other = nullptr;  // as large as the output, or null
  bool clamp = false;
  float low = 0, high = 0;
};

}  // namespace sdx
