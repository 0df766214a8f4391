// OutputMemory: memory for the outputs of one session's runs, used again once the caller has let go
// of them.
//
// Fresh memory costs more than most operators: the system clears every page and enters it in the
// page table, again at each run. What comes back is kept for the next run, but never more than the
// outputs of one run take.
#pragma once

#include <cstddef>
#include <memory>

namespace sdx::run {

// Aligned to kAlignment, with any content; in huge pages if it is large and they come quickly.
std::shared_ptr<void> memory_of_runs(size_t bytes);

class OutputMemory {
 public:
  OutputMemory();

  // A run begins, and takes what it needs. What the last one did not need any more is given back.
  void start();
  // Aligned to kAlignment, with any content. May be released by any thread, also after this object.
  std::shared_ptr<void> take(size_t bytes);
  // Bytes that wait for the next run.
  size_t idle_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sdx::run
