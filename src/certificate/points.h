// Points: element-wise nodes as scalar functions that are applied at every index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "typed/graph.h"

namespace sdx::certificate {

// One scalar function, applied at every index of what it makes: a line of a program, or a node.
struct Point {
  size_t made;
  std::string function;
  std::vector<size_t> args;  // numbers of wires
};

// The node as points, in order; the last makes its output, which is `made`. Nothing if it is not
// element-wise. `operands` are its inputs' numbers; values between points get numbers from `next`.
std::optional<std::vector<Point>> points_of(const typed::Graph& graph, const typed::Node& node,
                                            size_t made, const std::vector<size_t>& operands,
                                            size_t& next);

}  // namespace sdx::certificate
