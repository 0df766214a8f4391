// Plan: a graph with concrete shapes, ready to run: order, kernels, packed weights and a place in
// memory for every wire.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/epilogue/program.h"
#include "plan/packs.h"
#include "rewrite/rewritten.h"
#include "typed/graph.h"

namespace sdx::plan {

struct Options {
  Isa isa = Isa::portable;
  int threads = 1;
  bool fuse = true;        // element-wise programs into products
  bool reference = false;  // the reference body of every operator instead of kernels
  // Steps in an order drawn with this seed among all valid ones; memory is then laid out for it.
  std::optional<uint64_t> order = {};
  // Told how many steps have their kernel and packed weights, of how many.
  std::function<void(size_t done, size_t total)> progress = {};
  std::shared_ptr<PackCache> cache = {};  // packed weights on disk; none: packed at each load
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
struct StepEpilogue {
  uint32_t node;
  EpilogueProgram program;
};

struct Step {
  uint32_t node = 0;
  const Op::AnyKernel* kernel = nullptr;  // null: the reference
  std::shared_ptr<const void> packed;
  size_t scratch_offset = 0, scratch_bytes = 0;
  std::shared_ptr<const StepEpilogue> epilogue;  // what the step gives is then this node's output
  bool late =
      false;  // shapes known only when its inputs are: typed, given memory and run in one go
  bool has_bodies = false;  // holds subgraphs, which stay as the plan typed them
};

// What other sizes change of a step.
struct Choice {
  const Op::AnyKernel* kernel = nullptr;
  size_t scratch_bytes = 0;
  std::shared_ptr<const void> tables = {};  // that the kernel makes for sizes, and of no weights
};

// The node whose outputs the step writes.
inline uint32_t result_of(const Step& step) {
  return step.epilogue ? step.epilogue->node : step.node;
}

struct Layout;  // plan/memory.h
class Course;   // plan/grow/course.h

// Places of sizes in facts, and which of the plan's numbers they are.
using Written = std::vector<std::pair<Dim*, uint32_t>>;

struct Plan {
  uint32_t result_of(const Step& step) const { return plan::result_of(step); }

  typed::Graph graph;
  std::vector<Step> steps;                 // in order; views cost no step
  std::vector<std::vector<Place>> places;  // by node and slot
  size_t arena_bytes = 0;
  size_t live_bytes = 0;  // the most bytes alive at once: no arena can be smaller
  std::vector<Place>
      copied_outputs;  // by output: where to copy it from; none if it is written in place
  Options options;
  // Plans that share it differ in sizes alone: they have the same steps and places.
  std::shared_ptr<const Layout> layout = {};
  // The steps, in order, that are others than in the plan from which all of that layout are made.
  std::vector<uint32_t> resized = {};
  std::vector<uint32_t> renewed = {};  // the nodes that are others than in its graph
  // Plans that share it differ in `sizes` and what follows from them.
  std::shared_ptr<const Course> course = {};
  std::vector<int64_t> sizes = {};
  Written written = {};  // in facts of `graph`
};

// A plan without places: steps with their kernels and packed weights, views among them. `graph`
// should have concrete shapes wherever they do not depend on data. Packed weights are shared
// through `packs` if there are other plans of the same weights.
Result<Plan> choose_steps(typed::Graph graph, const Options& options, Pool& pool, Packs* packs);
// Constants that every reader has packed are not kept a second time.
void forget_packed(Plan& plan);
// The step chosen again, for the sizes that its nodes have in `graph`. None: more would have to
// change than kernels of the same weights. `like`: what was chosen for a node that does the same.
std::optional<Step> chosen_again(const Step& step, const typed::Graph& graph,
                                 const Options& options, Pool& pool, const Step* like = nullptr);
// The same of what the step's node is asked, where that is at hand.
std::optional<Choice> chosen_again(const Step& step, const Op& op, const void* resolved,
                                   const Call& call, const Options& options, Pool& pool);

// "step 3: conv1 (Conv, kernel im2col) -> arena+4096 f32[1,64,112,112]" and so on.
std::string to_text(const Plan& plan);

}  // namespace sdx::plan
