// What Pad's attributes mean.
#pragma once

#include "op/op.h"

namespace sdx::ops {

struct Pad {
  enum class Mode : uint8_t { constant, reflect, edge, wrap };
  Mode mode;
  std::optional<std::vector<int64_t>>
      pads;  // otherwise input 1; input 2 is the constant, input 3 the axes
  float value = 0;
};

// What each axis gets before and behind it; negative: what it loses.
struct Borders {
  std::vector<int64_t> begins, ends;
};

// The borders of an input of this rank, where the node's attributes and constants tell.
std::optional<Borders> known_borders(const Pad& a, size_t rank, const Facts& in);

}  // namespace sdx::ops
