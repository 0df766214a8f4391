// Net: a model's nodes with partial facts on their wires, before anything is known for sure. Wires
// are numbered as in a typed graph; nothing is folded and nothing is refused.
#pragma once

#include "infer/sink.h"

namespace sdx::infer {

// Why a piece of a fact is believed.
struct Reason {
  enum class By : uint8_t {
    nothing,
    declared,  // the type of a graph's input
    stated,    // value_info, or the type of a graph's output
    constant,  // an initialiser or a constant
    producer,  // the node that makes the wire, from its inputs
    consumer,  // a node that reads the wire: no other type or size fits
    assumed,   // a constant operand of rank 3 or more is as wide as the data
  };
  By by = By::nothing;
  uint32_t node = 0;  // producer or consumer, by its number in the net
};

// A wire's fact and, piece by piece, where it comes from.
struct Known {
  Fact fact;  // all that is known
  Fact told;  // the part that the producer does not give
  Reason type, rank;
  std::vector<Reason> dims;

  const Reason& dim(size_t axis) const { return axis < dims.size() ? dims[axis] : rank; }
};

class Net final : public Sink {
 public:
  struct Node {
    typed::Node::Kind kind = typed::Node::Kind::op;
    sdx::Node use;  // of a source or constant: its name
    std::vector<typed::Outlet> inputs;
    std::vector<Known> outputs;
  };

  typed::Outlet source(std::string name, Fact fact) override;
  typed::Outlet constant(Tensor value, std::string name) override;
  Result<std::vector<typed::Outlet>> add(sdx::Node use, std::vector<typed::Outlet> inputs,
                                         std::vector<std::string> origin) override;
  size_t size() const override { return nodes.size(); }
  const Fact& fact(typed::Outlet outlet) const override { return at(outlet).fact; }
  bool knows_facts() const override { return false; }

  Known& at(typed::Outlet outlet) { return nodes[outlet.node].outputs[outlet.slot]; }
  const Known& at(typed::Outlet outlet) const { return nodes[outlet.node].outputs[outlet.slot]; }
  // "node "conv1" (Conv)", "input "x"".
  std::string place(uint32_t node) const;
  std::string text(const Reason& reason) const;

  std::vector<Node> nodes;
  std::vector<typed::Outlet> sources;
};

// Whether a size is only a placeholder: a symbol that no declaration named.
bool is_open(const Dim& dim);
// Whether something of the fact could still be learnt.
bool is_open(const Fact& fact);

}  // namespace sdx::infer
