// sum_of_bytes: whether a program on dequantised bytes, quantised again, is one pass of add_bytes.
#pragma once

#include <optional>
#include <span>

#include "kernel/program/program.h"
#include "kernel/quant/quant.h"

namespace sdx {

// The program's two inputs and its result, in this order, have these scales and zero points.
std::optional<AddBytes> sum_of_bytes(const Program& program, std::span<const float> scale,
                                     std::span<const int64_t> zero, bool is_signed);

}  // namespace sdx
