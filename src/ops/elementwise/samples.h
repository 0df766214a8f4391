// Cases that every element-wise operator can have: each of its types, with the values at which
// functions go wrong.
#pragma once

#include "op/op.h"

namespace sdx::ops {

// `cases` and, for each element type of the newest version, inputs of 1100 elements. For floats
// also a single element as input i against many, if bit i of `singles` is set. Optional inputs are
// left out. They carry no expected values: kernels are compared with the reference.
std::vector<Case> with_samples(std::span<const Version> history, std::vector<Case> cases = {},
                               AttrMap attrs = {}, unsigned singles = 3);

}  // namespace sdx::ops
