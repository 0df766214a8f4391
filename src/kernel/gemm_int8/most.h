// Int8Most: how large sums of neighbouring weights get, which is what decides whether products of
// them and unsigned bytes can be added in 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

// Of weights [quad][column][4]: for any unsigned bytes up to x, a sum of the products of two
// neighbours of a quad is at most 255 * 128 or x * two in size, that of these and the two below
// them in the next quad (the first of a pair of quads is even) at most x * four.
struct Int8Most {
  int32_t two = 0, four = 0;

  [[gnu::always_inline]] void take(const Int8Most& other) {
    two = other.two > two ? other.two : two;
    four = other.four > four ? other.four : four;
  }
};

SDX_DECLARE_ISAS(Int8Most int8_most(const int8_t* weights, size_t quads, size_t columns);)

}  // namespace sdx
