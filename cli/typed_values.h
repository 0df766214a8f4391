// What is known of every value of a model's main graph, in the words of the model: for commands
// that declare values.
#pragma once

#include <map>
#include <string>

#include "command.h"
#include "fact/fact.h"

namespace sdx::cli {

struct TypedValues {
  std::map<std::string, Fact, std::less<>> facts;
  std::map<std::string, model::ValueInfo, std::less<>> declared;  // as the model says it

  // As declared, or else as inferred; without a type if nothing is known.
  model::ValueInfo info(const std::string& name) const;
};

// The error of commands that need one.
Error no_graph();

// ONNX's type of a fact; none for one that ONNX has no words for.
std::optional<model::Type> type_of(const Fact& fact);

Result<TypedValues> typed_values(const std::shared_ptr<const model::Model>& model,
                                 const LimitFlags& limits, const Bindings& sizes = {});

}  // namespace sdx::cli
