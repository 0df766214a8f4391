// Forest: decision trees as flat arrays. What a file says is checked when the forest is built:
// every child exists and no path comes back to a node, so that walks end and stay inside.
#pragma once

#include "ops/ml/scores.h"

namespace sdx {

enum class Branch : uint8_t { leq, lt, gte, gt, eq, neq, member };

// A tree's node as files give it. Children are numbers of nodes, or of leaves as ~number.
template <class T>
struct NodeSource {
  Branch mode;
  int64_t feature;
  T split;
  bool missing_true;  // NaN takes the true branch
  int64_t yes, no;
  std::vector<T> members = {};
};

// What a leaf adds to a target's score.
template <class T>
struct Vote {
  uint32_t target;
  T weight;
};

// T is float where features and splits are at most floats, else double.
template <class T>
class Forest {
 public:
  // Nodes reachable from the roots (node numbers, or ~leaf), laid out so that walks go forwards.
  static Result<Forest> make(const std::vector<NodeSource<T>>& nodes,
                             const std::vector<std::vector<Vote<T>>>& leaves,
                             const std::vector<int64_t>& roots);

  size_t trees() const { return roots_.size(); }
  size_t features() const { return features_; }  // more than the largest that a node reads
  // The votes of the leaf that tree `tree` leads a row to.
  std::span<const Vote<T>> votes(size_t tree, const T* row) const {
    uint32_t at = roots_[tree];
    while (at < leaf_base_) at = next(at, row);
    return votes_of(at);
  }
  // For 8 rows at once, which hides the latency of each; `step` elements lie between rows.
  void votes8(size_t tree, const T* row, size_t step, std::span<const Vote<T>>* result) const;

 private:
  enum Kind : uint8_t { kAtMost, kEqual, kMember };
  // x <= split (or x == split, or x among members) goes to child[0], other x to child[1]; NaN
  // where the flag says.
  struct Fork {
    T split;
    uint32_t feature;
    uint32_t child[2];
  };
  struct Condition {
    Kind kind = kAtMost;
    bool nan_first = false;
    uint32_t members = 0, members_end = 0;
  };

  uint32_t next(uint32_t at, const T* row) const {
    const Fork& node = nodes_[at];
    const T x = row[node.feature];
    return node.child[plain_ ? !(x <= node.split) : !goes_first(at, x)];
  }
  bool goes_first(uint32_t at, T x) const;
  std::span<const Vote<T>> votes_of(uint32_t at) const {
    const uint32_t leaf = at - leaf_base_;
    return {votes_.data() + leaf_start_[leaf], votes_.data() + leaf_start_[leaf + 1]};
  }
  void add(const NodeSource<T>& source, uint32_t at);

  std::vector<Fork> nodes_;
  std::vector<Condition> rules_;  // parallel to nodes_
  std::vector<T> members_;        // sorted within each node
  bool plain_ = true;             // no rule but the default one
  std::vector<uint32_t> roots_;
  uint32_t leaf_base_ = 0;  // leaf i is child leaf_base_ + i
  std::vector<uint32_t> leaf_start_;
  std::vector<Vote<T>> votes_;
  size_t features_ = 0;
};

}  // namespace sdx
