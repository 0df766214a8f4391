// Formulas: the sizes of a plan's wires as expressions of the symbols.
//
// The rewritten graph knows the size of nearly every wire as an expression, and of small integers
// their values too. A node whose outputs have formulas is typed once for all inputs of the same
// sizes and, where its operator is typed by which of them are equal (Op::by_equality), once for all
// that are equal alike. Its facts are then a few integers that are looked up here: nothing is read,
// inferred or allocated.
#pragma once

#include <span>
#include <unordered_map>

#include "plan/grow/alike.h"
#include "plan/specialize.h"

namespace sdx::plan {

class Formulas {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Values = std::vector<int64_t>;  // by formula

  // Of the plan that was specialised so from `rewritten`, under the bindings.
  Formulas(const typed::Graph& rewritten, const Trace& trace, const Bindings& bindings,
           const typed::Graph& graph, const Alike& alike);

  // What all formulas are under the bindings; empty: not all of them are known.
  Values values(const Bindings& bindings) const;
  // The number of the formula; kNone if the base's bindings do not give its value.
  uint32_t number(const Dim& dim);

  // Wires are numbered as in Alike. Whether this one has formulas.
  bool has(uint32_t wire) const { return wires_[wire].kind != kNone; }
  // The inputs that have formulas which are no integers, and whether others have known sizes alone.
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  bool all_inputs() const { return all_inputs_; }
  // Equal for wires of one type whose formulas are the same.
  uint32_t kind(uint32_t wire) const { return wires_[wire].kind; }
  uint32_t all_kinds() const { return all_kinds_; }
  // Formulas that are no integers, and whether one has another value than for the base.
  const std::vector<uint32_t>& open() const { return open_; }
  bool is_open(uint32_t formula) const { return !formulas_[formula].whole.is_const(); }
  bool differs_at(uint32_t formula, const Values& values) const {
    return values[formula] != base_[formula];
  }
  // Of a wire: its sizes' formulas, and its integers'.
  std::span<const uint32_t> sizes(uint32_t wire) const { return sizes(wires_[wire]); }
  std::span<const uint32_t> integers(uint32_t wire) const { return integers(wires_[wire]); }
  // Whether a formula of the wire has another value than for the base.
  bool differs(uint32_t wire, const Values& values) const;
  // Whether the fact is what the formulas say, and perhaps more.
  bool hold(uint32_t wire, const Fact& fact, const Values& values) const;
  // Whether the base's fact says more, for its sizes alone: then others may say other things, even
  // where the formulas do not differ.
  bool is_poor(uint32_t wire) const { return wires_[wire].is_poor; }
  // Writes the sizes and integers over those of a fact of the wire at other sizes. False: no
  // tensor has such sizes.
  bool write(uint32_t wire, const Values& values, Fact& fact) const;

  // Nodes that do the same at any sizes, and whose facts are known by formulas if they were typed
  // for such sizes before; kNone: the node must be typed.
  uint32_t set_of(uint32_t node) const { return set_of_[node]; }
  uint32_t first_of(uint32_t set) const { return sets_[set].first; }
  // Whether sizes that are other ones than for the base may leave what it was read as.
  bool outlasts(uint32_t set, const Values& values) const {
    const auto& [first, by_equality, read, known, next] = sets_[set];
    return by_equality || std::none_of(read.begin(), read.end(),
                                       [&](uint32_t f) { return differs_at(f, values); });
  }
  // What a node of the set was read as, for inputs like these; null if it was not yet.
  std::shared_ptr<const void> known(uint32_t set, const Values& values) const;
  void learn(uint32_t set, const Values& values, std::shared_ptr<const void> resolved);
  // The formulas that such a node reads, and what it may tell apart of one: 1, 0 and less.
  std::span<const uint32_t> reads(uint32_t set) const { return sets_[set].read; }
  static int64_t apart(int64_t value) {
    return value < 0 ? 3 : value == 0 ? 2 : value == 1 ? 1 : 0;
  }

 private:
  // The rest and symbols times their factors; an expression of another form is kept as it is.
  struct Formula {
    std::vector<std::pair<uint32_t, int64_t>> factors;  // by symbol; empty: only the whole is known
    int64_t rest = 0;
    Dim whole;
  };
  struct Wire {
    uint32_t kind = kNone;
    uint32_t first = 0, integers = 0, last = 0;  // in numbers_: its sizes, then its integers
    bool has_integers = false, is_poor = false;
  };
  using Pattern = std::vector<int64_t>;
  struct Set {
    uint32_t first;
    bool by_equality;
    std::vector<uint32_t> read;  // the formulas of its inputs, each once
    std::vector<std::pair<Pattern, std::shared_ptr<const void>>> known;
    size_t next = 0;  // which of them goes when there are many
  };

  Formula made(const Dim& dim);
  uint32_t symbol(const std::string& name);
  void add(uint32_t wire, const Fact& symbolic, const Fact& fact);
  void add_constant(uint32_t wire, const Fact& fact, const Alike& alike);
  void name_kind(uint32_t wire, std::vector<uint64_t> key);
  void find_inputs(const typed::Graph& rewritten, const Trace& trace, const Alike& alike);
  void find_sets(const typed::Graph& graph, const Alike& alike);
  bool readers_ask_no_more(uint32_t wire, const Alike& alike) const;
  std::optional<Set> set_for(uint32_t node, const typed::Graph& graph, const Alike& alike) const;
  Pattern pattern(uint32_t set, const Values& values) const;
  bool has_pattern(uint32_t set, const Values& values, const Pattern& pattern) const;
  static int64_t decides(const Set& set, size_t i, const Values& values);
  std::span<const uint32_t> sizes(const Wire& wire) const {
    return {numbers_.data() + wire.first, wire.integers - wire.first};
  }
  std::span<const uint32_t> integers(const Wire& wire) const {
    return {numbers_.data() + wire.integers, wire.last - wire.integers};
  }

  const Bindings bindings_;
  bool usable_;  // each symbol stands for a size
  std::vector<Formula> formulas_;
  std::vector<uint32_t> open_;  // those that are no integers
  std::vector<std::string> symbols_;
  Values base_;
  std::vector<uint32_t> numbers_;
  std::vector<Wire> wires_;
  uint32_t all_kinds_ = 0;
  std::vector<uint32_t> inputs_;
  bool all_inputs_ = true;
  std::vector<uint32_t> set_of_;  // by node
  std::vector<Set> sets_;
  std::map<std::string, uint32_t> by_text_;
  std::unordered_map<int64_t, uint32_t> by_value_;
  std::map<std::vector<uint64_t>, uint32_t> kinds_;
};

}  // namespace sdx::plan
