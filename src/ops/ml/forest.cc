#include "ops/ml/forest.h"

#include <cmath>

namespace sdx {
namespace {

constexpr int64_t kMost = 1 << 30;  // nodes, leaves or votes

enum class Seen : uint8_t { no, open, done };

// Node numbers in the order of a walk that takes true branches first; an error where a path
// returns to itself.
template <class T>
Result<std::vector<int64_t>> walk(const std::vector<NodeSource<T>>& nodes, size_t leaves,
                                  const std::vector<int64_t>& roots) {
  std::vector<int64_t> order;
  std::vector<Seen> seen(nodes.size(), Seen::no);
  std::vector<int64_t> stack;
  const auto exists = [&](int64_t at) {
    return at < 0 ? ~at < int64_t(leaves) : at < int64_t(nodes.size());
  };
  for (const int64_t root : roots) {
    if (!exists(root)) return fail("SDX-T0670", "root {} is not a node", root < 0 ? ~root : root);
    stack.push_back(root);
    while (!stack.empty()) {
      const int64_t at = stack.back();
      if (at < 0 || seen[size_t(at)] == Seen::done) {
        stack.pop_back();
        continue;
      }
      if (seen[size_t(at)] == Seen::open) {
        seen[size_t(at)] = Seen::done;
        stack.pop_back();
        continue;
      }
      seen[size_t(at)] = Seen::open;
      order.push_back(at);
      for (const int64_t child : {nodes[size_t(at)].no, nodes[size_t(at)].yes}) {
        if (!exists(child)) {
          return fail("SDX-T0670", "node {} has a child {} {}, which does not exist", at,
                      child < 0 ? "leaf" : "node", child < 0 ? ~child : child);
        }
        if (child >= 0 && seen[size_t(child)] == Seen::open) {
          return fail("SDX-T0671", "node {} leads back to node {}: this is no tree", at, child);
        }
        stack.push_back(child);
      }
    }
  }
  return order;
}

}  // namespace

template <class T>
void Forest<T>::add(const NodeSource<T>& source, uint32_t at) {
  Fork& node = nodes_[at];
  Condition& rule = rules_[at];
  node.feature = uint32_t(source.feature);
  node.split = source.split;
  features_ = std::max(features_, size_t(source.feature) + 1);
  // child[0] holds the true branch so far.
  bool swap = false;
  switch (source.mode) {
    case Branch::leq:
      break;
    case Branch::gt:
      swap = true;
      break;
    case Branch::lt:
    case Branch::gte: {
      // x < s is x <= the number below s; nothing lies below -inf.
      constexpr T kInfinity = std::numeric_limits<T>::infinity();
      node.split = source.split == -kInfinity ? std::numeric_limits<T>::quiet_NaN()
                                              : std::nextafter(source.split, -kInfinity);
      swap = source.mode == Branch::gte;
      break;
    }
    case Branch::eq:
      rule.kind = kEqual;
      break;
    case Branch::neq:
      rule.kind = kEqual;
      swap = true;
      break;
    case Branch::member:
      rule.kind = kMember;
      rule.members = uint32_t(members_.size());
      members_.insert(members_.end(), source.members.begin(), source.members.end());
      std::sort(members_.begin() + rule.members, members_.end());
      rule.members_end = uint32_t(members_.size());
      break;
  }
  // No comparison with a NaN split holds, but for "not equal".
  const bool never = source.split != source.split && source.mode != Branch::member;
  if (never && source.mode != Branch::neq && source.mode != Branch::eq) {
    rule.kind = kEqual;
    swap = false;
  }
  // NaN is unequal to every split.
  const bool nan_true = source.missing_true || source.mode == Branch::neq;
  if (swap) std::swap(node.child[0], node.child[1]);
  rule.nan_first = nan_true != swap;
  if (rule.kind != kAtMost || rule.nan_first) plain_ = false;
}

template <class T>
bool Forest<T>::goes_first(uint32_t at, T x) const {
  const Condition& rule = rules_[at];
  if (x != x) return rule.nan_first;
  switch (rule.kind) {
    case kAtMost:
      return x <= nodes_[at].split;
    case kEqual:
      return x == nodes_[at].split;
    case kMember:
      break;
  }
  return std::binary_search(members_.begin() + rule.members, members_.begin() + rule.members_end,
                            x);
}

template <class T>
Result<Forest<T>> Forest<T>::make(const std::vector<NodeSource<T>>& nodes,
                                  const std::vector<std::vector<Vote<T>>>& leaves,
                                  const std::vector<int64_t>& roots) {
  if (int64_t(nodes.size()) > kMost || int64_t(leaves.size()) > kMost) {
    return fail("SDX-T0672", "{} nodes and {} leaves are too many", nodes.size(), leaves.size());
  }
  for (const NodeSource<T>& node : nodes) {
    if (node.feature < 0 || node.feature >= kMost) {
      return fail("SDX-T0672", "a node reads feature {}", node.feature);
    }
  }
  SDX_ASSIGN(const std::vector<int64_t> order, walk(nodes, leaves.size(), roots));
  Forest forest;
  std::vector<uint32_t> place(nodes.size());
  for (size_t i = 0; i < order.size(); ++i) place[size_t(order[i])] = uint32_t(i);
  forest.leaf_base_ = uint32_t(order.size());
  const auto number = [&](int64_t at) {
    return at < 0 ? forest.leaf_base_ + uint32_t(~at) : place[size_t(at)];
  };
  forest.nodes_.resize(order.size());
  forest.rules_.resize(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    const NodeSource<T>& source = nodes[size_t(order[i])];
    forest.nodes_[i].child[0] = number(source.yes);
    forest.nodes_[i].child[1] = number(source.no);
    forest.add(source, i);
  }
  for (const int64_t root : roots) forest.roots_.push_back(number(root));
  forest.leaf_start_.push_back(0);
  for (const std::vector<Vote<T>>& votes : leaves) {
    forest.votes_.insert(forest.votes_.end(), votes.begin(), votes.end());
    if (int64_t(forest.votes_.size()) > kMost) {
      return fail("SDX-T0672", "the leaves have too many votes");
    }
    forest.leaf_start_.push_back(uint32_t(forest.votes_.size()));
  }
  return forest;
}

template <class T>
void Forest<T>::votes8(size_t tree, const T* row, size_t step,
                       std::span<const Vote<T>>* result) const {
  uint32_t at[8];
  for (uint32_t& a : at) a = roots_[tree];
  if (plain_ && leaf_base_ != 0) {
    for (bool walking = true; walking;) {
      walking = false;
      for (size_t i = 0; i < 8; ++i) {
        // A row at its leaf reads node 0 and stays where it is.
        const bool inside = at[i] < leaf_base_;
        const Fork& node = nodes_[inside ? at[i] : 0];
        const uint32_t child = node.child[!(row[i * step + node.feature] <= node.split)];
        at[i] = inside ? child : at[i];
        walking |= inside;
      }
    }
  } else {
    for (size_t i = 0; i < 8; ++i) {
      while (at[i] < leaf_base_) at[i] = next(at[i], row + i * step);
    }
  }
  for (size_t i = 0; i < 8; ++i) result[i] = votes_of(at[i]);
}

template class Forest<float>;
template class Forest<double>;

}  // namespace sdx
