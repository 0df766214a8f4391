// The loops of numbers.h, by element type; null where there is none.
#pragma once

#include <optional>

#include "base/dtype.h"
#include "kernel/elementwise/numbers.h"

namespace sdx {

constexpr std::optional<NumberType> number_type(DType type) {
  switch (type) {
    case DType::u8:
      return NumberType::u8;
    case DType::i8:
      return NumberType::i8;
    case DType::i32:
      return NumberType::i32;
    case DType::i64:
      return NumberType::i64;
    case DType::f32:
      return NumberType::f32;
    case DType::f64:
      return NumberType::f64;
    case DType::boolean:
      return NumberType::boolean;
    default:
      return std::nullopt;
  }
}

inline PairLoop pair_loop(NumberPair op, DType type, Isa isa) {
  const auto number = number_type(type);
  return number ? SDX_PICK(pair_loop, isa)(op, *number) : nullptr;
}
inline MapLoop map_loop(NumberMap op, DType type, Isa isa) {
  const auto number = number_type(type);
  return number ? SDX_PICK(map_loop, isa)(op, *number) : nullptr;
}
inline MapLoop halfway_loop(DType from, Isa isa) {
  const auto number = number_type(from);
  return number ? SDX_PICK(halfway_loop, isa)(*number) : nullptr;
}
inline ClipLoop clip_loop(DType type, Isa isa) {
  const auto number = number_type(type);
  return number ? SDX_PICK(clip_loop, isa)(*number) : nullptr;
}
inline MapLoop cast_loop(DType from, DType to, Isa isa) {
  const auto first = number_type(from), second = number_type(to);
  return first && second ? SDX_PICK(cast_loop, isa)(*first, *second) : nullptr;
}

}  // namespace sdx
