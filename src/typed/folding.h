// Folding: which nodes on constants are evaluated when they are made. Not those whose results
// would make the model grow, and not those whose work a file of that size does not warrant: they
// are left to the run, which has a deadline. Work is an upper bound, made from sizes alone.
#pragma once

#include "base/budget.h"
#include "base/deadline.h"
#include "typed/graph.h"

namespace sdx::typed {

// Units of work (about a nanosecond each) of folding one node, with all that its subgraphs do.
inline constexpr uint64_t kMostFoldingWork = uint64_t{1} << 23;

// The code of the error that ends an evaluation which takes too much work.
inline constexpr std::string_view kTooMuchWork = "SDX-R0033";

// The code of the error that a result beyond EvalOptions::most_bytes gives.
inline constexpr std::string_view kTooManyBytes = "SDX-R0021";

// Bytes of a tensor, with what its strings hold.
size_t bytes_held(const Tensor& tensor);

// Whether the operator's work is in proportion to what it reads and writes.
bool is_linear(const Op& op);

// An upper bound of the work of one node.
uint64_t work_of(const Op& op, const sdx::Node& use, const void* attrs, const Facts& in,
                 const Facts& out);

// Whether a node whose inputs are all constants should be evaluated now.
bool worth_folding(const Op& op, const sdx::Node& use, const void* attrs, const Facts& in,
                   const Facts& out);

// What a view of a constant gives lies where the constant does: tensors that share its memory,
// unless they are so small that a copy is as good. None: the node is no view.
std::optional<std::vector<Value>> seen_through(const Op& op, const void* attrs, const Facts& in,
                                               const Facts& out);

// An account, unless one is open, for making a graph again: raised by what the graph has.
class FoldingAccount {
 public:
  explicit FoldingAccount(const Graph& graph);

 private:
  Budget::Scope scope_;
};

// While it lives, evaluations on this thread are counted and end with kTooMuchWork beyond what one
// node may take or the model has left.
class FoldingAttempt {
 public:
  FoldingAttempt();
  ~FoldingAttempt();
  FoldingAttempt(const FoldingAttempt&) = delete;
  FoldingAttempt& operator=(const FoldingAttempt&) = delete;

  static bool active();
  // Counts; an error if that was too much. Nothing is counted outside of an attempt.
  static Status spend(uint64_t units);

 private:
  const Deadline::Steps steps_;  // what references count as they go: work that data asks for
  uint64_t left_;
  FoldingAttempt* outer_;
};

}  // namespace sdx::typed
