// Typing: a model becomes a typed graph. Functions are inlined, subgraphs are typed with what they
// capture, every wire gets a fact.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "model/model.h"
#include "typed/graph.h"

namespace sdx::infer {

struct Options {
  Bindings set;  // sizes for symbolic dimensions of the inputs
  // Inputs whose initializer is only a default that the caller replaces at each run.
  std::set<std::string> overridden;
  size_t most_nodes = 1 << 22;  // after inlining: nested functions can grow exponentially
  std::map<std::string, typed::Outlet>* wires =
      nullptr;  // filled with the main graph's names, for people
};

Result<typed::Graph> type_model(std::shared_ptr<const model::Model> model, const Options& = {});

// The fact that a declared type states. Dimensions without a name or number get symbols that start
// with `scope`.
Fact fact_of(const model::Type& type, const std::string& scope);

// Operators (with their versions) that the model uses and this build does not have, one error that
// lists all of them.
Status all_supported(const model::Model& model);

}  // namespace sdx::infer
