// The ONNX text syntax: a model as text that people read and write, and back.
//
//   <
//     ir_version: 8,
//     opset_import: ["" : 17]
//   >
//   agraph (float[N, 128] X, float[128, 10] W) => (float[N, 10] C) {
//     T = MatMul (X, W)
//     C = Softmax <axis: int = -1> (T)
//   }
//
// The syntax is ONNX's (docs/text.md has the grammar). What it has no words for stands in comments
// that begin with "#!" and name the fields of the protocol, so that printing and parsing gives the
// same bytes for every model, and ONNX's own parser still reads the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/io.h"

namespace sdx::model {

// Whether a file of this name holds text: .txt or .onnxtxt.
bool is_text_path(std::string_view path);

std::string print_text(const Model& model);
std::string print_text(const Function& function);

// Errors carry line and column and show the line with a caret. `file` is for messages; `files` is
// where external data resolves.
Result<Model> parse_text(std::string_view text, const Limits& limits = {},
                         std::string_view file = {},
                         std::shared_ptr<ExternalFiles> files = nullptr);
// Functions alone, one after the other.
Result<std::vector<Function>> parse_functions(std::string_view text, const Limits& limits = {},
                                              std::string_view file = {});

}  // namespace sdx::model
