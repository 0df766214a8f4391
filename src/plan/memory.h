// Where wires live: views share their input's memory, element-wise results take over dead inputs,
// what a step joins is computed where it belongs, the rest gets offsets.
#pragma once

#include "plan/plan.h"

namespace sdx::plan {

// Fills places, scratch offsets, arena_bytes, live_bytes and copied_outputs of a plan whose steps
// are chosen, and removes the steps that views make needless.
void place_wires(Plan& plan);

// Offsets for blocks of memory that are each needed from step `first` to step `last`.
struct Block {
  size_t bytes;
  size_t first, last;
  size_t offset = 0;
};
// Assigns offsets so that blocks alive at the same time do not overlap; returns the total.
size_t assign_offsets(std::vector<Block>& blocks);
// The most bytes alive at one step: no assignment needs less.
size_t most_live_bytes(const std::vector<Block>& blocks);

}  // namespace sdx::plan
