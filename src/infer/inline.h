// Inlining: a model becomes one without functions that computes the same.
#pragma once

#include "base/result.h"
#include "infer/bodies/bodies.h"

namespace sdx::infer {

struct InlineOptions {
  // Operators that ONNX defines as functions too, where operator_body() knows the body.
  bool operators = false;
  size_t most_nodes = size_t{1} << 22;  // nested functions can grow exponentially
};

// Each call is replaced by the function's nodes, with names of their own, and attributes that refer
// to the call's replaced by those or their defaults. A chain of calls that returns to its start is
// an error that prints it, and so is a body that means an operator in another version than the
// model imports, unless the two differ in element types at most.
Result<model::Model> inline_functions(const model::Model& model, const InlineOptions& = {});

// The body of an operator of ai.onnx that is a function, for this use of it; nothing if there is
// none here, or none for its attributes and what is known of its inputs.
std::optional<model::Function> operator_body(const OperatorUse& use);
std::vector<std::string> operators_with_bodies();

}  // namespace sdx::infer
