// ending_of: an element-wise operation as an Ending, where it is one.
#pragma once

#include <optional>

#include "kernel/gemm/ending.h"
#include "kernel/program/program.h"

namespace sdx {

// Relu and Clip, unless a bound is NaN or a zero of the wrong sign.
std::optional<Ending> ending_of(const Program::Instruction&);

}  // namespace sdx
