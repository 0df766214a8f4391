// The differences between two models, part by part: metadata, operator sets, inputs, outputs,
// weights, nodes, functions.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace sdx::cli {

struct Difference {
  enum class Kind : uint8_t { gone, came, changed };
  std::string part;  // "nodes"
  Kind kind = Kind::changed;
  std::string name;                // of the thing, as people know it
  std::vector<std::string> lines;  // what changed, "axis: 1 -> 2"
  long in_a = -1, in_b = -1;       // of a node of the main graphs: which one
};

std::vector<Difference> differences(const model::Model& a, const model::Model& b);

}  // namespace sdx::cli
