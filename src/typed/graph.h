// Graph: the typed graph. Nodes are made from wires that exist, so it has no cycles; every wire has
// a fact.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <vector>

#include "op/op.h"
#include "typed/journal.h"

namespace sdx {
class Assumptions;  // fact/assume.h
}

namespace sdx::typed {

// A wire: output `slot` of node `node`.
struct Outlet {
  uint32_t node = UINT32_MAX;
  uint32_t slot = 0;
  auto operator<=>(const Outlet&) const = default;
  bool present() const {
    return node != UINT32_MAX;
  }  // an optional input that is left out has no outlet
};

struct Node {
  enum class Kind : uint8_t { source, constant, op };
  Kind kind = Kind::op;
  sdx::Node use;                         // operator, opset, attributes, name; of a source: its name
  std::shared_ptr<const void> resolved;  // what op->read made
  std::vector<Outlet> inputs;
  Facts outputs;                      // absent facts for outputs that nobody named
  std::vector<std::string> origin;    // names of the model's nodes that this one stands for
  std::vector<uint32_t> folded_from;  // of a constant that folding made: the nodes it was made from

  const Op& op() const { return *use.op; }
};

struct Output {
  std::string name;
  Outlet outlet;
};

class Graph {
 public:
  std::string name;
  // What holds of the symbols; sizes are simplified by it as nodes are added.
  std::shared_ptr<const Assumptions> assumptions;
  // Where its nodes come from, if the model was typed with a journal.
  std::shared_ptr<const Chapter> journal;

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(uint32_t id) const { return nodes_[id]; }
  const Fact& fact(Outlet outlet) const;  // an absent fact for an absent outlet
  const std::vector<Outlet>& inputs() const { return inputs_; }  // sources, in order
  const std::vector<Output>& outputs() const { return outputs_; }
  // Nodes are stored in an order in which every input stands before its user.
  size_t size() const { return nodes_.size(); }

  Outlet source(std::string name, Fact fact);
  Outlet constant(Tensor value, std::string name = "");
  // Checks attributes, arity and types, infers, and folds what is constant. `wanted` as in
  // sdx::Node.
  Result<std::vector<Outlet>> add(sdx::Node use, std::vector<Outlet> inputs,
                                  std::vector<std::string> origin = {});
  // Gives an open fact the element type and rank that were learnt elsewhere. Sizes stay symbols,
  // bound when they are known: memory is never planned on a claim.
  void learn(Outlet outlet, const Fact& learnt);
  void output(std::string name, Outlet outlet) { outputs_.push_back({std::move(name), outlet}); }

  // For each node and slot: the nodes that read it, once per reading input.
  std::vector<std::vector<std::vector<uint32_t>>> successors() const;
  // The same graph without nodes that no output needs. Sources stay: they are the signature.
  Graph without_dead() const;
  // The same without a word in the journal; `moved` tells each node's new number, UINT32_MAX if it
  // went.
  Graph live_part(std::vector<uint32_t>& moved) const;
  // Drops the value of a constant that nobody will read again; its shape stays.
  void forget_value(uint32_t node) { nodes_[node].outputs[0].value.reset(); }
  // Every invariant of the structure; an error is a bug of whoever changed the graph.
  Status verify() const;

 private:
  std::vector<Node> nodes_;
  std::vector<Outlet> inputs_;
  std::vector<Output> outputs_;
};

// For people: Conv "conv1".
std::string shown(const Node& node);

// The largest constant that folding may make where it grows what is stored, and where it does not:
// larger weights stay in their file until a kernel packs them.
inline constexpr size_t kMostFolded = 1 << 20;
inline constexpr size_t kMostMoved = 16 << 20;

}  // namespace sdx::typed
