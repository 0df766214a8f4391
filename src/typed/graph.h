// Graph: the typed graph. Nodes are made from wires that exist, so it has no cycles; every wire has
// a fact.
#pragma once

#include <cassert>
#include <compare>
#include <iterator>
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
  bool is(const Op& op) const { return kind == Kind::op && use.op == &op; }
  // Its attributes as its operator's read() resolved them, whatever the version: the one way to
  // them behind this stage. A is the struct that the operator's header publishes.
  template <class A>
  const A& as() const {
    assert(kind == Kind::op && op().attributes == &kAttributesOf<A>);
    return *static_cast<const A*>(resolved.get());
  }
};

struct Output {
  std::string name;
  Outlet outlet;
};

// Copies of a graph share its nodes, which never change.
class Graph {
 public:
  // The nodes, in an order in which every input stands before its user.
  class Nodes {
    using Held = std::vector<std::shared_ptr<const Node>>;

   public:
    class Iterator {
     public:
      using iterator_category = std::forward_iterator_tag;
      using value_type = Node;
      using difference_type = std::ptrdiff_t;
      using pointer = const Node*;
      using reference = const Node&;
      Iterator() = default;
      explicit Iterator(Held::const_iterator at) : at_(at) {}
      const Node& operator*() const { return **at_; }
      const Node* operator->() const { return at_->get(); }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      Iterator operator++(int) { return Iterator(at_++); }
      bool operator==(const Iterator&) const = default;

     private:
      Held::const_iterator at_;
    };
    explicit Nodes(const Held& held) : held_(held) {}
    Iterator begin() const { return Iterator(held_.begin()); }
    Iterator end() const { return Iterator(held_.end()); }
    size_t size() const { return held_.size(); }
    const Node& back() const { return *held_.back(); }

   private:
    const Held& held_;
  };

  std::string name;
  // What holds of the symbols; sizes are simplified by it as nodes are added.
  std::shared_ptr<const Assumptions> assumptions;
  // Where its nodes come from, if the model was typed with a journal.
  std::shared_ptr<const Chapter> journal;

  Nodes nodes() const { return Nodes(nodes_); }
  const Node& node(uint32_t id) const { return *nodes_[id]; }
  const Fact& fact(Outlet outlet) const;  // an absent fact for an absent outlet
  Facts facts(const std::vector<Outlet>& outlets) const;
  const std::vector<Outlet>& inputs() const { return inputs_; }  // sources, in order
  const std::vector<Output>& outputs() const { return outputs_; }
  size_t size() const { return nodes_.size(); }

  Outlet source(std::string name, Fact fact);
  Outlet constant(Tensor value, std::string name = "");
  // Checks attributes, arity and types, infers, and folds what is constant. `wanted` as in
  // sdx::Node.
  Result<std::vector<Outlet>> add(sdx::Node use, std::vector<Outlet> inputs,
                                  std::vector<std::string> origin = {});
  // Node `id` of another graph, with its inputs at `inputs` here. It is shared or copied if its
  // inputs' facts are what they were there, and added anew if not.
  Result<std::vector<Outlet>> take(const Graph& from, uint32_t id, std::vector<Outlet> inputs);
  // For a copy of `from` whose sizes change, every node at its number. A source or constant becomes
  // another of its kind.
  void renew(uint32_t id, Fact fact);
  void share(uint32_t id, const Graph& from) { nodes_[id] = from.nodes_[id]; }
  // An operator's node: as it is in `from`, or made again where its inputs are others than there.
  // False, and nothing is done: it would be another kind of node, for it folds.
  Result<bool> renew(uint32_t id, const Graph& from);
  // The same with another use of its operator, whose subgraphs are not to look at captured wires.
  Result<bool> renew(uint32_t id, sdx::Node use, const Graph& from);
  // The same where node `like`, which was made again, differs from it in nothing but its name and
  // where its inputs come from.
  void renew_like(uint32_t id, uint32_t like, const Graph& from);
  // The same where what it was read as is known, and so are the facts of its outputs, which are
  // written over those that this gives: they are of the same kinds, types and ranks, and its own.
  Facts& renew_known(uint32_t id, std::shared_ptr<const void> resolved, const Graph& from);
  // The facts of a node's outputs, to be written over; null if another graph has the node too.
  Facts* own_facts(uint32_t id);
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
  void forget_value(uint32_t node);
  // Every invariant of the structure; an error is a bug of whoever changed the graph.
  Status verify() const;

 private:
  uint32_t push(Node node);
  Node* own(uint32_t id, const Graph& from);

  std::vector<std::shared_ptr<const Node>> nodes_;
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
