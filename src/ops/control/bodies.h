// What the operators with subgraphs share.
#pragma once

#include "op/body_runner.h"
#include "ops/common.h"
#include "ops/element_of.h"

namespace sdx::ops {

using BodyPtr = std::shared_ptr<const Body>;

// Facts of the outer wires that subgraphs use: they follow the formal inputs.
inline Facts captured(const Node& node, const Facts& in) {
  return {in.begin() + std::ptrdiff_t(node.formal_inputs), in.end()};
}

inline const BodySource& source(const Node& node, std::string_view attr) {
  return *node.get<std::shared_ptr<const BodySource>>(attr);
}

// What two wires that may both arrive at one place have in common.
inline Fact join(const Fact& a, const Fact& b) {
  Fact both = like(a);
  if (a.kind == Fact::Kind::optional && b.kind != Fact::Kind::optional)
    return Fact::optional_of(join(element_of(a), b));
  if (b.kind == Fact::Kind::optional && a.kind != Fact::Kind::optional) return join(b, a);
  if (a.element && b.element)
    both.element = std::make_shared<const Fact>(join(*a.element, *b.element));
  if (both.type == DType::undefined) both.type = b.type;
  if (!a.shape || !b.shape || a.rank() != b.rank()) {
    both.shape.reset();
    return both;
  }
  static const Dim kUnknown = Dim::unknown();
  for (size_t i = 0; i < a.rank(); ++i) {
    if (!(a.dim(i) == b.dim(i))) (*both.shape)[i] = kUnknown;
  }
  return both;
}

// Refuses a body of which outputs from `first` on, whose values are stacked, are no tensors.
inline Status expect_tensors(const Body& body, size_t first) {
  for (size_t i = first; i < body.outputs().size(); ++i) {
    const Fact& fact = body.outputs()[i];
    if (fact.present() && !fact.is_tensor()) {
      return fail("SDX-T0608", "output {} of the body is {}, expected a tensor", i,
                  fact.onnx_type());
    }
  }
  return ok();
}

// Whoever runs the operator, as the one who runs its bodies.
inline NodeBodies& bodies(const Args& args) { return dynamic_cast<NodeBodies&>(*args.late); }

// A value that goes from an operator's input to its output: inputs may lie in memory that is used
// again.
inline Value owned(const Value& value) {
  return value.is_tensor() ? Value(value.tensor().copy()) : value;
}

// What a row costs that is kept until all are stacked: itself, and its place among them.
inline size_t bytes_to_stack(const Tensor& row) {
  constexpr size_t kOfAnyTensor = 128;
  return kOfAnyTensor + 2 * row.bytes();
}
// Tensors of equal shape, stacked along a new axis.
Result<Tensor> stack(std::span<const Tensor> items, size_t axis, DType type,
                     const std::optional<Shape>& item_shape);
// Piece i of a tensor along an axis, that axis removed.
Tensor piece(const Tensor& whole, size_t axis, size_t i);

}  // namespace sdx::ops
