// What QuantisedElementwise's attributes mean.
#pragma once

#include "kernel/program/program.h"
#include "kernel/quant/sum.h"

namespace sdx::ops {

// Inputs broadcast as numpy's do; input k stands for (x - zero[k]) * scale[k]. The last pair is the
// output's.
struct QuantisedElementwise {
  Program program;
  std::vector<float> scale;
  std::vector<uint8_t> zero;    // as bytes of the inputs' type
  std::optional<AddBytes> sum;  // where the program is a sum, and perhaps Relu, a kernel's own pass
};

}  // namespace sdx::ops
