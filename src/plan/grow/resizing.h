// Resizing: a plan's graph with other sizes, every node at its number.
#pragma once

#include "plan/grow/folded.h"
#include "plan/grow/grow.h"

namespace sdx::plan {

class Resizing {
 public:
  explicit Resizing(const Base& base);

  // Makes `graph`, a copy of the base's whose sizes may be those of any plan, that of these inputs:
  // nodes that no change reaches are shared with the base. False: more than sizes would change.
  Result<bool> run(const OpenInputs& inputs, const Bindings& bindings, const Folded& folded,
                   typed::Graph& graph);

  // The nodes that are others than in the base, in order.
  const std::vector<uint32_t>& changed() const { return changed_; }
  // Those that are like none before them.
  std::vector<uint32_t> distinct() const;
  // The first of these that is the same but for its name and where its inputs come from.
  uint32_t like(uint32_t node) const { return like_[node]; }

 private:
  bool reached(uint32_t node) const;
  bool reads_same(uint32_t a, uint32_t b) const;
  uint32_t number_of(const Fact& fact);
  void changes(uint32_t node, const typed::Graph& graph);
  Result<bool> renew(uint32_t node, const Bindings& bindings, typed::Graph& graph);

  const Base& base_;
  const Alike& alike_;
  std::vector<uint32_t> facts_;  // by wire, as in Alike; other numbers are facts of these sizes
  uint32_t next_fact_;
  std::vector<uint32_t> changed_, like_;
  std::vector<std::vector<uint32_t>> made_;  // by kind: a few nodes that were made again
  std::vector<std::pair<const Fact*, uint32_t>> fresh_;  // facts of these sizes, by their numbers
};

}  // namespace sdx::plan
