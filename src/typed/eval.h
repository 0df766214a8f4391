// Evaluation of one operator by itself, on values: constants are folded, subgraphs and late shapes
// run through here.
#pragma once

#include <span>

#include "op/body_runner.h"
#include "op/op.h"

namespace sdx::typed {

// Packs the constant inputs of a kernel, or has done so before.
class Packer {
 public:
  virtual ~Packer() = default;
  virtual std::shared_ptr<const void> pack(const Op::AnyKernel& kernel, const sdx::Node& use,
                                           const void* attrs, const Call& call, Pool& pool) = 0;
};

struct EvalOptions {
  Pool* pool = nullptr;   // null: the calling thread alone
  bool reference = true;  // the reference body; false: the first kernel that fits
  Isa isa = Isa::portable;
  BodyRunner* bodies = nullptr;    // null: subgraphs run node by node
  size_t most_bytes = SIZE_MAX;    // of one output
  bool check_types = false;        // the inputs' types were not known when the node was made
  const void* resolved = nullptr;  // of a node with subgraphs, whose typing is kept
  // For a node that runs again and again: which of its inputs never change, and who packs them.
  std::span<const bool> constant = {};
  Packer* packer = nullptr;
};

// A Loop that is folded goes round at most this often; a longer one is left to the run.
inline constexpr int64_t kMostFoldedIterations = 10000;

// Runs `use` on `inputs` (std::monostate where an optional input is left out); one value per output
// of `use`.
Result<std::vector<Value>> eval(const sdx::Node& use, std::span<const Value> inputs,
                                const EvalOptions& = {});

class Graph;

// Runs a whole graph node by node; `inputs` in the order of its sources, results in the order of
// its outputs.
Result<std::vector<Value>> eval(const Graph& graph, std::span<const Value> inputs,
                                const EvalOptions& = {});

}  // namespace sdx::typed
