// A model written in another version of an operator set, with the same meaning.
//
// Each node walks from its version of the operator to the wanted one, a version at a time, upwards
// or downwards. What most versions change is said by their signatures: an attribute became an
// input, a default changed, an output was added. For these the declared history is enough
// (signatures.cc). The versions that changed a meaning have a step of their own (steps.h), and one
// that changes what the signatures cannot explain and has no step is a mistake that a test finds
// (unexplained()). What the wanted version has no words for is an error that names the node.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sdx::opsets {

struct Wanted {
  std::string domain;  // "" is ai.onnx
  int64_t version = 0;
};

struct Written {
  model::Model model;
  size_t changed = 0;  // nodes that are written otherwise
  size_t added = 0;    // nodes that help them
  // Nodes whose operator the wanted version does not have, written as the function that ONNX gives
  // for it. Unlike everything else here their last bits may differ: whoever asks must compare.
  std::vector<std::string> expanded;
};

// The newest version of an operator set that this build knows; 0 for a set that it does not.
int64_t newest_version(std::string_view domain);

Result<Written> in_opset(const model::Model& model, const Wanted& wanted);

}  // namespace sdx::opsets
