// --opset: a model in another version of an operator set, proved to give the same answers.
#pragma once

#include "command.h"
#include "inputs.h"
#include "opsets/opsets.h"

namespace sdx::cli {

// "21", or "ai.onnx.ml=3".
Result<opsets::Wanted> read_opset(const std::string& text);

struct OpsetFlags {
  std::string opset;
  bool unproved = false;
  InputFlags inputs;

  void add_to(CommandLine& app);
  bool given() const { return !opset.empty(); }
  // The model, after it gave the digests of the one before; says on stderr what was done.
  Result<model::Model> write(const model::Model& model, const LimitFlags& limits) const;
};

}  // namespace sdx::cli
