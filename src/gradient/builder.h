// Builder: adds nodes to a graph in expressions. The first error stays and makes everything after
// it void, so that a formula reads as a formula.
#pragma once

#include <string_view>
#include <vector>

#include "typed/graph.h"

namespace sdx::gradient {

using typed::Outlet;
using Outlets = std::vector<Outlet>;

class Builder {
 public:
  explicit Builder(typed::Graph& graph) : graph_(graph) {}

  const Status& status() const { return status_; }
  Outlet refuse(Error error);
  typed::Graph& graph() { return graph_; }
  const Fact& fact(Outlet wire) const { return graph_.fact(wire); }
  DType type(Outlet wire) const { return fact(wire).type; }
  // 0 and an error if it is not known.
  size_t rank(Outlet wire);

  // A node of the newest version of an ai.onnx operator; its first output, or all of them.
  Outlet op(std::string_view name, Outlets in, AttrMap attrs = {});
  Outlets ops(std::string_view name, Outlets in, AttrMap attrs, size_t outputs);
  // The same node with other inputs; or with as many outputs as said and some attributes changed.
  Outlets again(const typed::Node& node, Outlets in);
  Outlets again(const typed::Node& node, Outlets in, AttrMap changed, size_t outputs);

  Outlet number(double value, DType type);
  Outlet ints(const std::vector<int64_t>& values);
  Outlet shape(Outlet x) { return op("Shape", {x}); }
  Outlet zeros(Outlet like) { return op("Expand", {number(0, type(like)), shape(like)}); }
  Outlet ones(Outlet like) { return op("Expand", {number(1, type(like)), shape(like)}); }
  // The same elements in the shape of another wire.
  Outlet reshape(Outlet x, Outlet like);
  Outlet cast(Outlet x, DType type);
  Outlet transpose(Outlet x, const std::vector<int64_t>& perm);

  Outlet add(Outlet a, Outlet b) { return op("Add", {a, b}); }
  Outlet sub(Outlet a, Outlet b) { return op("Sub", {a, b}); }
  Outlet mul(Outlet a, Outlet b) { return op("Mul", {a, b}); }
  Outlet div(Outlet a, Outlet b) { return op("Div", {a, b}); }
  Outlet neg(Outlet a) { return op("Neg", {a}); }
  Outlet square(Outlet a) { return mul(a, a); }
  Outlet plus(Outlet a, double b) { return add(a, number(b, type(a))); }
  Outlet times(Outlet a, double b) { return mul(a, number(b, type(a))); }
  Outlet over(Outlet a, double b) { return div(a, number(b, type(a))); }
  Outlet minus_from(double a, Outlet b) { return sub(number(a, type(b)), b); }
  Outlet less(Outlet a, Outlet b) { return op("Less", {a, b}); }
  // a where the condition holds, else 0.
  Outlet only(Outlet condition, Outlet a) {
    return op("Where", {condition, a, number(0, type(a))});
  }
  Outlet sum(Outlet x, const std::vector<int64_t>& axes, bool keepdims = true);
  Outlet mean(Outlet x, const std::vector<int64_t>& axes);

  // Sums g over what broadcasting `x` to g's shape repeated; the result has x's shape.
  Outlet unbroadcast(Outlet g, Outlet x);

 private:
  Outlets made(sdx::Node use, Outlets in);

  typed::Graph& graph_;
  Status status_;
};

}  // namespace sdx::gradient
