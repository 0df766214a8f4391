// Inlining of functions (check/inline.h) and of the operators that ONNX defines as functions.
#pragma once

#include "base/result.h"
#include "infer/bodies/bodies.h"

namespace sdx::infer {

struct InlineOptions {
  // Operators that ONNX defines as functions too, where operator_body() knows the body.
  bool operators = false;
  size_t most_nodes = size_t{1} << 22;  // nested functions can grow exponentially
};

// The model without functions.
Result<model::Model> inline_functions(const model::Model& model, const InlineOptions& = {});

// The body of an operator of ai.onnx that is a function, for this use of it; nothing if there is
// none here, or none for its attributes and what is known of its inputs.
std::optional<model::Function> operator_body(const OperatorUse& use);
std::vector<std::string> operators_with_bodies();

}  // namespace sdx::infer
