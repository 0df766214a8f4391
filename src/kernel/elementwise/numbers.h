// Loops over elements that are no single-precision floats: integers, doubles and bools, and the
// conversions between all of them. The code is plain; each level's compiler makes it vectors of
// that level's width.
//
// Integers wrap. Every NaN result is the canonical quiet NaN. Outputs may be the inputs themselves,
// element for element, but not overlap otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

enum class NumberType : uint8_t { u8, i8, i32, i64, f32, f64, boolean };

// The comparisons give bools. min and max are NaN if either operand is, and take -0 to be less than
// +0. div is of 32-bit integers alone: towards zero, and 0 where the divisor is.
enum class NumberPair : uint8_t { add, sub, mul, div, min, max, equal, less, less_or_equal };
// All but the first four are of doubles alone (round: halves to even).
enum class NumberMap : uint8_t {
  abs,
  negate,
  sign,
  relu,
  floor,
  ceil,
  round,
  sqrt,
  reciprocal,
  square,
  exp,
  log,
  tanh,
  sigmoid,
  sin,
  cos
};

// y[i] = op(a[i * step_a], b[i * step_b]) for i < n; a step is 0 or 1, and one at least is 1 where
// n is more than 1.
using PairLoop = void (*)(const void* a, size_t step_a, const void* b, size_t step_b, void* y,
                          size_t n);
// y[i] = op(x[i]) for i < n.
using MapLoop = void (*)(const void* x, void* y, size_t n);
// y[i] = min(max(x[i], *low), *high) for i < n.
using ClipLoop = void (*)(const void* x, const void* low, const void* high, void* y, size_t n);
// y[i] = condition[i] != 0 ? a[i * step_a] : b[i * step_b] for i < n; steps are 0 or 1.
using ChooseLoop = void (*)(const uint8_t* condition, const void* a, size_t step_a, const void* b,
                            size_t step_b, void* y, size_t n);

// The loop of one level; null where there is none. cast: floats to integers are truncated and
// saturate, NaN becomes 0; between integers the low bits stay; a bool is whether the number is not
// zero. halfway: numbers as floats that round to halves of either kind as the numbers themselves
// do, for what a float cannot hold is rounded to the odd one of two. choose: elements of 1, 2, 4 or
// 8 bytes.
SDX_DECLARE_ISAS(PairLoop pair_loop(NumberPair op, NumberType type);
                 MapLoop map_loop(NumberMap op, NumberType type);
                 ClipLoop clip_loop(NumberType type);
                 MapLoop cast_loop(NumberType from, NumberType to);
                 MapLoop halfway_loop(NumberType from); ChooseLoop choose_loop(size_t bytes);)

}  // namespace sdx
