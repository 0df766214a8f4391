// A model into a file, in the form that the file's name says: where convert, extract and simplify
// end.
#pragma once

#include <string>

#include "base/result.h"
#include "model/model.h"

namespace sdx::cli {

struct Writing {
  std::string in;        // the file that the model was read from: external data lies beside it
  std::string out;       // .onnx; .txt, .onnxtxt: text; "-": ONNX's bytes to standard output
  bool embed = false;    // external data goes into the file
  std::string external;  // weights go into this file, beside `out`; "": they stay where they are
  size_t least = 1024;   // bytes that a weight has at least to go there
};

// Whether a file of this name can be written.
Status can_be_written(const std::string& out);
Status write_model(model::Model model, const Writing& writing);

// Whether some tensor of the model lies in another file.
bool has_external_data(const model::Model& model);

}  // namespace sdx::cli
