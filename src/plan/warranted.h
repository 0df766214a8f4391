// How much memory a run may take where nobody said how much: what the model and its inputs warrant.
#pragma once

#include <span>

#include "typed/graph.h"

namespace sdx::plan {

// Which any model may take.
inline constexpr size_t kFewBytes = size_t{256} << 20;

// The limit for runs of the graph under the given one. The machine's own memory, which is what
// stands there if nobody gave a limit, is for models that warrant it.
size_t memory_limit(const typed::Graph& graph, size_t most);
// Whether that is a limit that nobody gave.
bool is_by_default(size_t most);

// Whether each wire of the nodes, or of all, is within the limit for runs of the graph.
Status wires_fit(const typed::Graph& graph, std::span<const uint32_t> nodes, size_t most);
Status wires_fit(const typed::Graph& graph, size_t most);

// The error of what is beyond a limit, with what to do about it where nobody gave that limit.
Error explained(Error error, size_t most);

// A subgraph may take what the graph around it may: holds while it runs, on its thread.
class Around {
 public:
  // `outer`: the one that holds where the subgraph is asked for, perhaps on another thread.
  Around(const typed::Graph& graph, const Around* outer);
  ~Around();
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;

  static const Around* current();
  // What the graphs around this thread's work bring, which is counted when it is asked for.
  static size_t brought();

 private:
  const typed::Graph& graph_;
  const Around* outer_;
  const Around* before_;
};

}  // namespace sdx::plan
