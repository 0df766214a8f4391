// Topological order and cycles. Files that are merely unsorted and files that can never be sorted
// are told apart, and the cycle is printed.
#include <algorithm>

#include "check/checker.h"

namespace sdx::check {
namespace {

struct Use {
  size_t producer;
  std::string_view name;
};
using Uses = std::vector<std::vector<Use>>;  // of each node: values that nodes of its graph make

// Tarjan's algorithm, without recursion: a group of nodes that need each other, per node.
class Groups {
 public:
  explicit Groups(const Uses& uses)
      : uses_(uses), order_(uses.size(), 0), low_(uses.size(), 0), group_(uses.size(), 0) {
    for (size_t i = 0; i < uses.size(); ++i) {
      if (order_[i] == 0) visit(i);
    }
  }
  bool together(size_t a, size_t b) const { return group_[a] == group_[b]; }
  size_t of(size_t node) const { return group_[node]; }

 private:
  struct Frame {
    size_t node, next;
  };
  void enter(size_t node) {
    order_[node] = low_[node] = ++count_;
    open_.push_back(node);
    frames_.push_back({node, 0});
  }
  void visit(size_t root) {
    enter(root);
    while (!frames_.empty()) {
      auto& [node, next] = frames_.back();
      if (next < uses_[node].size()) {
        const size_t producer = uses_[node][next++].producer;
        if (order_[producer] == 0) {
          enter(producer);
        } else if (group_[producer] == 0) {
          low_[node] = std::min(low_[node], order_[producer]);
        }
        continue;
      }
      const size_t done = node;
      if (low_[done] == order_[done]) close(done);
      frames_.pop_back();
      if (!frames_.empty()) {
        const size_t user = frames_.back().node;
        low_[user] = std::min(low_[user], low_[done]);
      }
    }
  }
  void close(size_t root) {
    ++groups_;
    size_t node = 0;
    do {
      node = open_.back();
      open_.pop_back();
      group_[node] = groups_;
    } while (node != root);
  }

  const Uses& uses_;
  std::vector<size_t> order_, low_, group_, open_;
  std::vector<Frame> frames_;
  size_t count_ = 0, groups_ = 0;
};

// A shortest way from `start` back to itself along what nodes use, within its group.
std::vector<Use> cycle_through(size_t start, const Uses& uses, const Groups& groups) {
  std::vector<size_t> user(uses.size(), uses.size());
  std::vector<std::string_view> by(uses.size());
  std::vector<size_t> queue = {start};
  for (size_t head = 0; head < queue.size(); ++head) {
    for (const Use& use : uses[queue[head]]) {
      if (!groups.together(use.producer, start) || user[use.producer] != uses.size()) continue;
      user[use.producer] = queue[head];
      by[use.producer] = use.name;
      if (use.producer != start) {
        queue.push_back(use.producer);
        continue;
      }
      // From the start, each step goes to the node that uses the value.
      std::vector<Use> steps;
      size_t at = start;
      do {
        steps.push_back({at, by[at]});
        at = user[at];
      } while (at != start);
      return steps;
    }
  }
  return {};
}

}  // namespace

void Checker::dependencies(const Scope& scope) {
  const std::vector<model::Node>& nodes = *scope.nodes;
  Uses uses(nodes.size());
  bool sorted = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view name : names_used(nodes[i])) {
      const Definition* definition = scope.own(name);
      if (definition == nullptr || definition->kind != Definition::Kind::node) continue;
      uses[i].push_back({definition->node, name});
      sorted = sorted && definition->node < i;
    }
  }
  if (sorted) return;

  const Groups groups(uses);
  std::set<size_t> reported;
  std::vector<std::pair<size_t, const Use*>> early;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Use& use : uses[i]) {
      if (use.producer < i) continue;
      if (!groups.together(use.producer, i)) {
        early.emplace_back(i, &use);
      } else if (reported.insert(groups.of(i)).second) {
        std::string text;
        for (const Use& step : cycle_through(i, uses, groups)) {
          text += fmt::format("{} -{}-> ", node_text(nodes, step.producer), in_quotes(step.name));
        }
        const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
        report(rule::cycle, place, "nodes need each other's outputs: {}{}", text,
               node_text(nodes, i));
      }
    }
  }
  if (early.empty()) return;
  const auto& [i, use] = early[0];
  const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
  Diagnostic& d = report(rule::order, place, "{} is used here but defined later, by {}",
                         in_quotes(use->name), node_text(nodes, use->producer));
  d.help = "nodes must stand in an order in which each comes after those it uses";
  if (early.size() > 1) {
    d.notes.push_back(fmt::format("{} more uses come before their definitions", early.size() - 1));
  }
}

}  // namespace sdx::check
