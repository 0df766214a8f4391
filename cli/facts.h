// Facts against values: what was inferred of a model's wires holds when it runs.
#pragma once

#include <map>

#include "base/tensor.h"
#include "model/model.h"

namespace sdx::cli {

using Named = std::map<std::string, Value>;
// The value of an input; an error if there is none.
Result<Value> input_named(const Named& inputs, const std::string& name);

// The model with the shapes of the given inputs in the place of declared ones: of those that
// contradict the values, or of all.
std::shared_ptr<const model::Model> with_shapes_of(const std::shared_ptr<const model::Model>& model,
                                                   const Named& inputs, bool all);

// Runs the model node by node. Every wire's value is one that its fact allows. Where the inputs'
// shapes are known and an operator's output shape does not depend on elements, it is known exactly;
// where it depends on some, it is once they are constants.
Status facts_hold(const std::shared_ptr<const model::Model>& model, const Named& inputs);

}  // namespace sdx::cli
