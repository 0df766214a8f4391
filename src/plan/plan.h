// Plan: a graph with concrete shapes, ready to run: order, kernels, packed weights and a place in
// memory for every wire.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "op/epilogue.h"
#include "typed/graph.h"

namespace sdx::plan {

struct Options {
  Isa isa = Isa::portable;
  int threads = 1;
  bool fuse = true;        // element-wise programs into products
  bool reference = false;  // the reference body of every operator instead of kernels
};

// Where a wire's bytes are while the plan runs.
struct Place {
  enum class Kind : uint8_t {
    none,      // left out, or not a tensor
    arena,     // at `offset` of the session's arena
    constant,  // at `offset` of the value of constant node `index`
    input,     // at `offset` of the caller's input `index`
    output,    // at `offset` of the caller's output `index`
    late,      // a value of its own, made while running: its size was not known before
  };
  Kind kind = Kind::none;
  uint32_t index = 0;
  size_t offset = 0;
};

// An Elementwise node that runs inside the kernel of the product that feeds it.
struct Fusion {
  uint32_t node;
  FusedProgram program;
};

struct Step {
  uint32_t node = 0;
  const Op::AnyKernel* kernel = nullptr;  // null: the reference
  std::shared_ptr<const void> packed;
  size_t scratch_offset = 0, scratch_bytes = 0;
  std::shared_ptr<const Fusion> fused;  // what the step gives is then this node's output
  bool late =
      false;  // shapes known only when its inputs are: typed, given memory and run in one go
};

struct Plan {
  // The node whose outputs the step writes.
  uint32_t result_of(const Step& step) const { return step.fused ? step.fused->node : step.node; }

  typed::Graph graph;
  std::vector<Step> steps;                 // in order; views cost no step
  std::vector<std::vector<Place>> places;  // by node and slot
  size_t arena_bytes = 0;
  size_t live_bytes = 0;  // the most bytes alive at once: no arena can be smaller
  std::vector<Place>
      copied_outputs;  // by output: where to copy it from; none if it is written in place
  Options options;
};

// `graph` should have concrete shapes wherever they do not depend on data.
Result<Plan> make_plan(typed::Graph graph, const Options& options, Pool& pool);

// The graph with its inputs' symbols bound: every node made again on the concrete facts, shape
// arithmetic folded away.
Result<typed::Graph> specialize(const typed::Graph& graph, const Bindings& bindings);

// "step 3: conv1 (Conv, kernel im2col) -> arena+4096 f32[1,64,112,112]" and so on.
std::string to_text(const Plan& plan);

}  // namespace sdx::plan
