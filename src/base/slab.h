// Slabs: memory for packed weights, which live long and are read from end to end on every run.
#pragma once

#include <cstddef>
#include <memory>

namespace sdx {

// Aligned to kAlignment. Pieces lie side by side in slabs of huge pages where the system has them:
// reading weights for one row of input waits for memory, and at every small page for the page table
// too. A slab is freed with its last piece. Safe to call from several threads.
std::shared_ptr<void> allocate_lasting(size_t bytes);

}  // namespace sdx
