// A convolution between dequantisation and quantisation is computed in integers.
//
//   QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), b))   ->   QLinearConv(x, w,
//   round(b / (sx * sw)))
//
// This changes bits: the float form rounds every product, the integer form none. It is what
// quantised models are trained for and what other engines compute, so it is part of the standard
// numerics level (docs/numerics.md), not of optimisation; the strict level leaves the float form
// alone.
#include "ops/list.h"
#include "rewrite/quantised.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

Result<Wires> qdq_conv_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.use.op != &ops::quantize_linear) return Wires();
  const Node* conv = r.only_from(node.inputs[0], ops::conv);
  const auto y = quantised(r, node, node.outputs[0].type);
  if (conv == nullptr || !y) return Wires();
  const auto x = dequantised(r, conv->inputs[0]), w = dequantised(r, conv->inputs[1], 0);
  if (!x || !w || !r.old.fact(w->tensor).value) return Wires();
  std::optional<Tensor> integers;
  if (conv->inputs.size() > 2 && conv->inputs[2].present()) {
    const Fact& bias = r.old.fact(conv->inputs[2]);
    if (bias.value) integers = integer_bias(*bias.value, *x, *w, *y);
    if (!integers) return Wires();
  }
  std::vector<Outlet> inputs =
      qlinear_conv_inputs(r, r.now(x->tensor), r.now(w->tensor), *x, *w, *y, integers);
  const Node* stands_for[] = {conv, &node};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add_like(*conv, ops::qlinear_conv, {}, std::move(inputs), stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule qdq_conv{"qdq_conv", qdq_conv_at};

}  // namespace sdx::rewrite
