// The 16-bit conversions of tile.h, by element type: f16 if that is the type, else bf16.
#pragma once

#include "base/dtype.h"
#include "kernel/elementwise/arrays.h"

namespace sdx {

inline auto widening(DType type, Isa isa) {
  return type == DType::f16 ? SDX_PICK(array_from_f16, isa) : SDX_PICK(array_from_bf16, isa);
}
inline auto narrowing(DType type, Isa isa) {
  return type == DType::f16 ? SDX_PICK(array_to_f16, isa) : SDX_PICK(array_to_bf16, isa);
}

}  // namespace sdx
