#include "kernel/quant/quant.h"

#include <cmath>

namespace sdx {

// Scales for which every sum is finite, every quotient is one by a normal number, and no quotient
// leaves what an int32 holds with a zero point more.
bool adds_bytes(const AddBytes& t) {
  const double most = 255 * (std::fabs(double(t.scale[0])) + std::fabs(double(t.scale[1])));
  const double by = std::fabs(double(t.scale[2]));
  return most < 0x1p100 && by > 0x1p-100 && by < 0x1p100 && most / by < 0x1p20;
}

}  // namespace sdx
