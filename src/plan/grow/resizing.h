// Resizing: a plan's graph with other sizes, every node at its number.
#pragma once

#include <utility>

#include "plan/grow/folded.h"
#include "plan/grow/grow.h"

namespace sdx::plan {

class Resizing {
 public:
  // `values`: of the base's formulas, for these sizes; empty: they are of no use.
  Resizing(Base& base, Formulas::Values values);

  // `inputs`: of those that have no formulas, or of all.
  // Makes `graph`, a copy of the base's in which the nodes in `before` may be those of any sizes,
  // that of these inputs: nodes that no change reaches are shared with the base, and not looked at.
  // False: more than sizes would change.
  Result<bool> run(const OpenInputs& inputs, const Bindings& bindings, const Folded& folded,
                   const std::vector<uint32_t>& before, typed::Graph& graph);

  // The nodes that are others than in the base: inputs and constants, then the others in order.
  const std::vector<uint32_t>& changed() const { return changed_; }
  // Those that are like none before them.
  std::vector<uint32_t> distinct() const;
  // Nodes that are as in the base although an input of theirs is not, for their subgraphs tell.
  const std::vector<uint32_t>& kept() const { return kept_; }
  // Whether any node was read as something else than for other sizes, or may be for the next: false
  // only where the same formulas tell all.
  bool by_numbers() const { return by_numbers_; }
  const Formulas::Values& values() const { return values_; }
  // The first of these that is the same but for its name and where its inputs come from.
  uint32_t like(uint32_t node) const { return like_[node]; }

 private:
  // A set of nodes whose least member is at hand.
  struct Nodes {
    explicit Nodes(size_t size) : words((size + 63) / 64, 0) {}
    void add(uint32_t node) { words[node / 64] |= uint64_t{1} << node % 64; }
    // Takes the node out; false if it is not in.
    bool take(uint32_t node) {
      const uint64_t bit = uint64_t{1} << node % 64;
      return (std::exchange(words[node / 64], words[node / 64] & ~bit) & bit) != 0;
    }
    std::vector<uint64_t> words;
  };

  bool changes_formal_input(uint32_t node) const;
  bool reads_same(uint32_t a, uint32_t b) const;
  uint32_t number_of(const Fact& fact, size_t hash);
  void changes(uint32_t node, const typed::Graph& graph);
  void reach(uint32_t wire);
  void notes(uint32_t node, uint32_t like);
  void put(uint32_t node, const Fact& fact, typed::Graph& graph);
  bool write(uint32_t node, std::shared_ptr<const void> resolved, typed::Graph& graph);
  bool leaves(const OpenInputs& inputs, const Folded& folded, const std::vector<uint32_t>& before,
              typed::Graph& graph);
  bool is_changed(uint32_t node) const { return like_[node] != Alike::kNone; }
  bool reads_nothing(uint32_t node) const {
    return alike_.first_read[node] == alike_.first_read[node + 1];
  }
  Result<bool> renew(uint32_t node, const Bindings& bindings, typed::Graph& graph);
  Result<bool> renew_by_formulas(uint32_t node, uint32_t set, typed::Graph& graph);
  Result<bool> renew_typed(uint32_t node, typed::Graph& graph);
  Result<bool> renew_alone(uint32_t node, const Bindings& bindings, typed::Graph& graph);

  struct Fresh {
    size_t hash;
    const Fact* fact;
    uint32_t number;
  };

  Base& base_;
  const Alike& alike_;
  const Formulas::Values values_;
  std::vector<uint32_t> facts_;  // by wire, as in Alike; other numbers are facts of these sizes
  uint32_t next_fact_;           // behind the base's, and one for each kind of wire with formulas
  std::vector<uint32_t> changed_, like_, kept_;
  bool by_numbers_;
  std::vector<std::vector<uint32_t>> made_;  // by kind: a few nodes that were made again
  std::vector<Fresh> fresh_;                 // facts of these sizes
  Nodes reached_;                            // what reads a wire that has changed
};

}  // namespace sdx::plan
