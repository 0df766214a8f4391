// Int8Unit: which instructions sum products of bytes.
//
// All of them are exact modulo 2^32, so the choice is free at any level of instruction set, and is
// made from what the machine has.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/isa.h"

namespace sdx {

enum class Int8Unit : uint8_t {
  plain,        // no instruction of their own: bytes are widened
  avx_vnni,     // vpdpbusd on 256 bits, at level avx2
  avx512_vnni,  // vpdpbusd on 512 bits, at level avx512
  neon_dot,     // sdot, at level neon
  neon_i8mm,    // sudot, at level neon
  amx,          // tiles of 16 x 64 bytes, at level avx512
  // For tests, where the machine lacks the real ones: the kernels of avx_vnni with the instruction
  // as AVX512-VNNI encodes it, and those of amx with tiles in memory.
  avx_vnni_evex,
  amx_in_memory,
};

// The best one of this machine at a level, or the lower one that SARDONYX_INT8 or
// force_int8_unit() asks for.
Int8Unit int8_unit(Isa);
// Whether this machine and this system have it.
bool int8_unit_available(Int8Unit);
// Limits what int8_unit() answers from now on; amx restores it. Those for tests are answered at the
// level that they belong to.
void force_int8_unit(Int8Unit);
std::string_view int8_unit_name(Int8Unit);

}  // namespace sdx
