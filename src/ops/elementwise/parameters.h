// What the attributes of element-wise operators mean.
#pragma once

#include <cstddef>

namespace sdx::ops {

// The parameters in ONNX's order: alpha; alpha and gamma; alpha and beta.
struct Unary {
  float p = 0, q = 0;
  bool flag = false;  // Gelu: the approximation by tanh
};

struct Binary {
  size_t trail = 0;   // axes of the first input after the second one's last
  bool flag = false;  // Mod: C's fmod; BitShift: to the left
  float alpha = 0;    // SwiGLU
};

}  // namespace sdx::ops
