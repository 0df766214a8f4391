// The levels that a test can run on this machine.
#pragma once

#include <vector>

#include "kernel/isa.h"

namespace sdx {

inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) isas.push_back(isa);
  }
  return isas;
}

}  // namespace sdx
