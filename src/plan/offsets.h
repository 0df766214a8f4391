// Offsets for blocks of memory that are each needed from one step to another.
#pragma once

#include <cstddef>
#include <vector>

namespace sdx::plan {

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
