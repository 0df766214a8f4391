// Rule: how one operator passes the derivative of its outputs on to its inputs.
#pragma once

#include <span>
#include <string_view>

#include "gradient/builder.h"

namespace sdx::gradient {

// One node on the way back.
struct Step {
  Builder& b;
  const typed::Node& node;
  Outlets in, out;  // absent where left out or unwanted
  Outlets grad;     // of the outputs; absent: zero
  size_t start;     // nodes from here on have been made by this step

  Outlet x() const { return in[0]; }
  Outlet y() const { return out[0]; }
  Outlet g() const { return grad[0]; }
  bool has(size_t i) const { return i < in.size() && in[i].present(); }
  std::string_view name() const { return node.op().name; }
  // Its attributes, resolved; A is the struct that the operator's header publishes.
  template <class A>
  const A& as() const {
    return node.as<A>();
  }
  // A number of the first input's type.
  Outlet number(double value) const { return b.number(value, b.type(in[0])); }
  // The rule by parts: `ys` are the outputs written in simpler operators, made by this step from
  // `in`; their own rules do the rest.
  Outlets through(const Outlets& ys) const;
};

// One wire per input, fewer if the last ones are not differentiable; absent: zero.
using Rule = Outlets (*)(const Step&);
struct Entry {
  std::string_view op;  // of ai.onnx
  Rule rule;
};

// One table per family.
std::span<const Entry> unary_rules();
std::span<const Entry> binary_rules();
std::span<const Entry> reduction_rules();
std::span<const Entry> move_rules();
std::span<const Entry> product_rules();
std::span<const Entry> normalization_rules();
std::span<const Entry> convolution_rules();
std::span<const Entry> loss_rules();

// The walk: from the derivatives `grads` of `ys` to those of `xs`, through nodes not before
// `start`. Absent: zero.
Outlets walk_back(Builder& b, const Outlets& ys, const Outlets& grads, const Outlets& xs,
                  size_t start);

}  // namespace sdx::gradient
