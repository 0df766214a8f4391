// Node: one use of an operator, as its declaration reads it: attributes complete with defaults,
// opset resolved.
#ifndef SDX_OP_NODE_H_
#define SDX_OP_NODE_H_

#include <memory>
#include <span>
#include <string>

#include "kernel/isa.h"
#include "kernel/pool.h"
#include "op/signature.h"

namespace sdx {

struct Op;

// A subgraph with types on every wire; what If, Loop, Scan and SequenceMap hold.
class Body {
 public:
  virtual ~Body() = default;
  virtual const Facts& inputs() const = 0;  // formal inputs, then captured outer wires
  virtual const Facts& outputs() const = 0;
  virtual Result<std::vector<Value>> run(std::span<const Value> inputs, Pool& pool,
                                         Isa isa) const = 0;
};

// A subgraph before its inputs' types are known.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual size_t inputs() const = 0;  // formal ones
  virtual size_t outputs() const = 0;
  // `captured`: facts of the outer wires it uses, in the order in which the node takes them after
  // its formal inputs.
  virtual Result<std::shared_ptr<const Body>> type(const Facts& formal,
                                                   const Facts& captured) const = 0;
};

struct Node {
  const Op* op = nullptr;
  int opset = 0;     // the version of the operator's set that the model imports
  std::string name;  // may be empty
  AttrMap attrs;     // with defaults filled in
  // Which outputs somebody named; optional outputs that nobody did need not be computed.
  std::vector<bool> wanted;
  size_t formal_inputs = 0;  // inputs after these are wires that subgraphs capture

  Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  bool has(std::string_view attr) const;
  bool wants(size_t output) const { return output < wanted.size() && wanted[output]; }

  // The attribute's value. Present and of this type: the signature has been checked before read()
  // is called.
  template <class T>
  const T& get(std::string_view attr) const {
    return std::get<T>(value(attr));
  }
  int64_t i(std::string_view attr) const;
  int64_t i_or(std::string_view attr, int64_t fallback) const;
  float f(std::string_view attr) const;
  float f_or(std::string_view attr, float fallback) const;
  const std::string& s(std::string_view attr) const;
  const std::vector<int64_t>& ints(std::string_view attr) const;
  // Empty if the attribute is not given.
  std::vector<int64_t> ints_or_empty(std::string_view attr) const;

 private:
  const AttrValue& value(std::string_view attr) const;
};

// One use of an operator's newest version.
Node use_of(const Op& op, AttrMap attrs, size_t outputs = 1);
// The attributes of `node` that the newest version of `op` has too: those of a node that takes its
// place.
AttrMap attributes_for(const Op& op, const Node& node);
// Whether two nodes have the same attributes.
bool same_attributes(const Node&, const Node&);
// Whether the node has subgraphs.
bool has_bodies(const Node&);
// visit(name, value) for each attribute: for those who tell nodes apart and read none.
template <class Visit>
void each_attribute(const Node& node, Visit&& visit) {
  for (const auto& [name, value] : node.attrs) visit(name, value);
}

// Resolves a negative axis; an error if it is not in [-rank, rank).
Result<size_t> resolve_axis(int64_t axis, size_t rank, std::string_view what = "axis");

}  // namespace sdx

#endif  // SDX_OP_NODE_H_
