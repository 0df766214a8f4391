// How far one value lies from another.
#pragma once

#include <string>

#include "base/tensor.h"
#include "judge.h"

namespace sdx::cli {

struct Distance {
  std::string why;  // they cannot be compared: other kind, type or shape
  bool equal_bits = false;
  size_t count = 0, beyond = 0;  // elements, and those beyond the tolerance
  // Over elements: |found - expected|, and that over |expected| where it is not zero. Both NaN, or
  // the same infinity, is no distance; NaN against a number is an infinite one.
  double max_abs = 0, mean_abs = 0, max_rel = 0;
  size_t worst = 0;                // the element of max_abs
  double found = 0, expected = 0;  // there

  bool within() const { return why.empty() && beyond == 0; }
  std::string text() const;
};

// Element types may differ among numbers: a model in f16 against the same in f32.
Distance distance(const Value& found, const Value& expected, const Tolerance& tolerance);

}  // namespace sdx::cli
