// Pattern: a small graph that is looked for in a larger one, written in text or built.
//
//   %x = input : f32[N,8]                 any wire of this type and shape; N is one size throughout
//   %c = constant : f32[]                 a wire whose value is known
//   %1 = IsNaN (%x) once                  once: nobody else reads it
//   %2 = Where (%1, %c, %x)
//   %3, _ = TopK {axis=-1} (%2, ...)      given attributes must be equal; "...": any further inputs
//   output %3
//   repeat %x                             a chain: each block's output is the next one's %x
//
// An operator means all its versions. The type after ':' may be left out, and in it "any" is any
// element type and "?" any size. '_' as an input is one left out. Inputs of commutative operators
// are matched in every order.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "typed/graph.h"

namespace sdx::typed {

struct PatternWire {
  uint32_t node = UINT32_MAX;  // of the pattern; UINT32_MAX: an input left out
  uint32_t slot = 0;
};

struct PatternNode {
  enum class Kind : uint8_t { input, constant, op };
  using Size = std::variant<std::monostate, int64_t, std::string>;  // any, a number, a symbol

  Kind kind = Kind::input;
  std::vector<std::string> names;  // of its outputs
  const Op* op = nullptr;
  std::vector<PatternWire> inputs;
  bool more_inputs = false;
  AttrMap attrs;
  bool once = false;
  DType type = DType::undefined;  // of output 0; undefined: any
  std::optional<std::vector<Size>> dims;
  std::shared_ptr<const Tensor> value;      // a constant equal to this
  std::function<bool(const Fact&)> accept;  // what else must hold of output 0
};

// Where a pattern was found.
struct Match {
  std::map<std::string, Outlet, std::less<>> wires;  // by the pattern's names
  std::map<std::string, Dim, std::less<>> sizes;     // by the pattern's symbols
  std::vector<uint32_t> nodes;                       // operators, in the pattern's order

  Outlet operator[](std::string_view name) const { return wires.find(name)->second; }
};

// How many inputs and outputs of the graph read a wire.
using Uses = std::function<size_t(Outlet)>;

class Pattern {
 public:
  // Errors carry "line 3" and what was expected.
  static Result<Pattern> parse(std::string_view text);
  // A typed graph as a pattern: its inputs stand for any wire of their facts, its constants for
  // equal ones. Only attributes that differ from their defaults count.
  static Result<Pattern> of(const Graph& graph);

  // A further condition on the fact of a named wire.
  Pattern& where(std::string_view name, std::function<bool(const Fact&)> accept);

  // The pattern with its output at this node.
  std::optional<Match> at(const Graph& graph, uint32_t node, const Uses& uses) const;
  // The same as often as it follows on itself, the last block first.
  std::vector<Match> chain(const Graph& graph, uint32_t node, const Uses& uses) const;

  const std::vector<PatternNode>& nodes() const { return nodes_; }

 private:
  friend class PatternReader;
  friend class Search;
  std::vector<PatternNode> nodes_;
  PatternWire output_;
  std::string through_;  // of a chain
};

}  // namespace sdx::typed
