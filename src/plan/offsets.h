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
// Assigns offsets so that blocks alive at the same time do not overlap; returns the total. More
// attempts find smaller ones.
inline constexpr int kManyAttempts = 16;
size_t assign_offsets(std::vector<Block>& blocks, int attempts = kManyAttempts);
// The most bytes alive at one step: no assignment needs less.
size_t most_live_bytes(const std::vector<Block>& blocks);

}  // namespace sdx::plan
