// Binder: the sizes of symbols, from the inputs that a graph is given.
//
// A subgraph has every weight that it captures for an input, and all inputs are looked at for each
// new size. So where each size is an integer or follows from one symbol, what they are held against
// is kept in few bytes; facts are asked when something does not fit, or where they say more.
#pragma once

#include <span>

#include "typed/graph.h"

namespace sdx::plan {

// Inputs whose sizes the bindings give, by their numbers in order, with what they are now.
using OpenInputs = std::vector<std::pair<uint32_t, Fact>>;

class Binder {
 public:
  explicit Binder(const typed::Graph& graph);

  // What the symbols stand for, in an order of their own.
  using Sizes = std::vector<int64_t>;
  // Inputs of equal sizes have equal shapes. None where an input says more or does not fit, which
  // `bind` tells.
  std::optional<Sizes> sizes(std::span<const Value> inputs) const;
  // Whether these are the sizes of the inputs.
  bool are(const Sizes& sizes, std::span<const Value> inputs) const;
  Bindings named(const Sizes& sizes) const;
  // Of the same graph's inputs. Errors name the input, what it is and what was expected.
  Result<Bindings> bind(const typed::Graph& graph, std::span<const Value> inputs) const;
  OpenInputs open_inputs(const typed::Graph& graph, const Bindings& bindings) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // factor * symbol + rest, or the rest alone.
  struct Axis {
    int64_t factor = 0, rest = 0;
    uint32_t symbol = kNone;
    bool is(int64_t size, int64_t value) const;  // where the symbol stands for the value
  };
  struct Input {
    DType type;
    uint32_t first_axis, rank;
  };
  template <class Check>
  bool all_sizes(std::span<const Value> inputs, Check&& check) const;
  bool add(const Fact& fact);
  std::optional<Axis> axis_of(const Dim& dim);
  std::optional<Sizes> sizes_in(const Bindings& bindings) const;

  bool plain_ = true;  // all is in here; else only `open_` is
  std::vector<Input> inputs_;
  std::vector<Axis> axes_;
  std::vector<std::string> symbols_;
  std::vector<uint32_t> open_;  // inputs that other bindings change
};

}  // namespace sdx::plan
