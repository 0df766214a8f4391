// What QuantisedElementwise's attributes mean.
#pragma once

#include <array>

#include "base/dtype.h"
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

// One element of the answer: of input k the byte x[k]. `type` is theirs and the answer's.
uint8_t quantised_answer(const QuantisedElementwise&, DType type, const uint8_t* x);

// What the attribute of MapBytes means: the answer to each byte.
struct MapBytes {
  std::array<uint8_t, 256> table;
};

}  // namespace sdx::ops
