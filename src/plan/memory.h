// Where wires live: views share their input's memory, element-wise results take over dead inputs,
// what a step joins is computed where it belongs, the rest gets offsets.
#pragma once

#include "plan/plan.h"

namespace sdx::plan {

// Where everything of one plan lies. Plans of the same steps with other sizes can share it as long
// as they fit.
struct Layout {
  // A piece of memory that one or more wires share.
  struct Root {
    Place::Kind kind = Place::Kind::none;
    uint32_t index = 0;               // of an input, constant or output
    size_t capacity = 0, offset = 0;  // of a piece of the arena
  };
  struct Wire {
    size_t root = SIZE_MAX;
    size_t offset = 0;
  };
  struct Scratch {
    size_t capacity = 0, offset = 0;
  };
  std::vector<Root> roots;
  std::vector<std::vector<Wire>> wires;  // by node and slot
  std::vector<bool> views;               // by step: it need not run
  std::vector<Scratch> scratch;          // by step
  std::vector<size_t> copied;            // outputs that are copied at the end
  size_t arena_bytes = 0, live_bytes = 0;
};

// A layout for a plan whose steps are chosen. Wires of `growing` nodes get more room than they
// need.
Layout lay_out(const Plan& plan, const std::vector<bool>& growing = {});
// Whether step `s` of a plan of the same steps can use it, for the sizes that its nodes have in
// `graph`. `like`: a step that does the same, and fits.
bool fits(const Layout& layout, size_t s, const Step& step, const typed::Graph& graph,
          const Options& options, const Step* like = nullptr);
// Fills places, scratch offsets, arena_bytes, live_bytes and copied_outputs of the plan, and
// removes the steps that views make needless.
void place_wires(Plan& plan, const Layout& layout);

// The bytes that a wire of concrete size takes; 0 for others.
size_t bytes_of(const Fact& fact);

}  // namespace sdx::plan
