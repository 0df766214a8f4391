// map_bytes: y[i] = table[x[i]], a function of one byte as its 256 answers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

SDX_DECLARE_ISAS(void map_bytes(const uint8_t* x, uint8_t* y, size_t n, const uint8_t* table);)

}  // namespace sdx
