// A model from standard input, which "-" names wherever a command takes a model's file.
#pragma once

#include "model/io.h"

namespace sdx::cli {

// ONNX's bytes, or its text: text begins with '<', as no message does. What was read is kept, so
// that a command may ask again.
Result<std::shared_ptr<const model::Model>> read_standard_input(const model::Limits& limits);

}  // namespace sdx::cli
