// Slabs: memory for packed weights, which live long and are read from end to end on every run.
#pragma once

#include <cstddef>
#include <memory>

#include "base/huge.h"

namespace sdx {

// Aligned to kAlignment. Pieces lie side by side in slabs of huge pages where the system has them:
// reading weights for one row of input waits for memory, and at every small page for the page table
// too. A slab is freed with its last piece. Safe to call from several threads.
std::shared_ptr<void> allocate_lasting(size_t bytes);

// Whether weights should be read where they lie, if a kernel can, instead of being packed.
enum class Stay {
  no,
  if_faster,   // than packed ones
  if_as_fast,  // about, since packing them takes long
};

// How weights that are packed on this thread while it lives will be used.
class LastingUse {
 public:
  // They come in such pages; without a LastingUse, always in huge ones.
  explicit LastingUse(HugePages pages, Stay stay = Stay::no);
  ~LastingUse();
  LastingUse(const LastingUse&) = delete;
  LastingUse& operator=(const LastingUse&) = delete;

  static HugePages pages();
  // Whether weights stay that are read in place, faster than packed ones or about as fast.
  static bool stays(bool faster);

 private:
  HugePages pages_before_;
  Stay stay_before_;
};

// While it lives, notes what its thread allocates; pieces then start as zeros, so that they may be
// written to a file as a whole. One at a time per thread.
class LastingRecord {
 public:
  LastingRecord();
  ~LastingRecord();
  LastingRecord(const LastingRecord&) = delete;
  LastingRecord& operator=(const LastingRecord&) = delete;

  // How many bytes `piece` has if it is all that was allocated; else 0.
  size_t bytes_of(const void* piece) const { return count_ == 1 && piece == piece_ ? bytes_ : 0; }

 private:
  friend std::shared_ptr<void> allocate_lasting(size_t bytes);
  void note(void* piece, size_t bytes);

  size_t count_ = 0, bytes_ = 0;
  const void* piece_ = nullptr;
};

}  // namespace sdx
