// Wires of a model as outputs of its graph: how commands look at values between nodes.
#pragma once

#include "command.h"

namespace sdx::cli {

// The names of all values that nodes of the main graph make, in the nodes' order.
std::vector<std::string> wires_of(const model::Model& model);

// A value with its name.
struct NamedValue {
  std::string name;
  Value value;
};

// The values of these wires in one run; of all of them if none is named. The rewrites of the
// standard level that change bits (docs/numerics.md) see that somebody reads these wires, and leave
// them as written.
Result<std::vector<NamedValue>> values_of_wires(const std::shared_ptr<const model::Model>& model,
                                                const CompileOptions& options,
                                                const std::vector<Value>& inputs,
                                                const std::vector<std::string>& wires);

}  // namespace sdx::cli
