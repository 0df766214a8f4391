// What only moves elements between dequantisation and quantisation moves bytes.
//
//   QuantizeLinear(Transpose(DequantizeLinear(x)))   ->   Transpose(x)
//   QuantizeLinear(Concat(DequantizeLinear(a), DequantizeLinear(b)))   ->   Concat(a', b')
//
// An input that is quantised otherwise than the result becomes x', each byte the one that it would
// have become behind the move: the same rounded operations on the same floats. Every bit is kept.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/list.h"
#include "rewrite/quantised.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

// How many of its first inputs a node moves; 0: it does something else.
size_t moved_inputs(const Node& node) {
  static constexpr std::array kMoves = {&ops::reshape,        &ops::transpose,      &ops::squeeze,
                                        &ops::unsqueeze,      &ops::flatten,        &ops::slice,
                                        &ops::depth_to_space, &ops::space_to_depth, &ops::expand,
                                        &ops::tile,           &ops::gather};
  if (node.kind != Node::Kind::op || node.outputs.size() != 1) return 0;
  if (node.is(ops::concat)) return node.inputs.size();
  return std::any_of(kMoves.begin(), kMoves.end(), [&](const Op* op) { return node.is(*op); });
}

// Whether a byte that is dequantised and quantised by the same scale is itself again: its multiple
// of the scale is finite and off by half an ulp at most, and so is the quotient.
bool undoes(const Quantised& x, const Quantised& y) {
  const float scale = *y.scale->data<float>();
  return *x.scale->data<float>() == scale && zero_of(x) == zero_of(y) && scale > 0 &&
         std::isnormal(scale) && std::isfinite(scale * 256);
}

// The bytes of x as y has them.
Result<Outlet> as(Rewriting& r, const Quantised& x, const Quantised& y, const Node& node) {
  if (undoes(x, y)) return r.now(x.tensor);
  // The identity: of a NaN, too, the quantised form is that of 0.
  const std::vector<std::string> code = {"replace_nan 0 0 0"};
  const std::vector<float> scales = {*x.scale->data<float>(), *y.scale->data<float>()};
  const std::vector<int64_t> zeros = {zero_of(x), zero_of(y)};
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(
      const std::vector<Outlet> wires,
      r.add(ops::quantised_elementwise, {{"code", code}, {"scales", scales}, {"zeros", zeros}},
            {r.now(x.tensor)}, 1, stands_for));
  return wires[0];
}

Result<Wires> quantised_moves_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (!node.is(ops::quantize_linear)) return Wires();
  const DType type = node.outputs[0].type;
  const auto y = quantised(r, node, type);
  const Outlet wire = node.inputs[0];
  const Node& move = r.old.node(wire.node);
  const size_t moved = moved_inputs(move);
  if (!y || moved == 0 || r.uses(wire) != 1) return Wires();
  std::vector<Quantised> from;
  for (size_t i = 0; i < moved; ++i) {
    const auto x = dequantised(r, move.inputs[i]);
    if (!x || r.old.fact(x->tensor).type != type || r.old.fact(move.inputs[i]).type != DType::f32)
      return Wires();
    from.push_back(*x);
  }
  std::vector<Outlet> inputs;
  for (size_t i = 0; i < move.inputs.size(); ++i) {
    inputs.push_back(r.now(move.inputs[i]));
    if (i < moved) {
      SDX_ASSIGN(inputs[i], as(r, from[i], *y, node));
    }
  }
  sdx::Node use = move.use;
  std::vector<std::string> origin = move.origin;
  origin.insert(origin.end(), node.origin.begin(), node.origin.end());
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.made.add(std::move(use), std::move(inputs), std::move(origin)));
  return Wires(std::move(wires));
}

}  // namespace

const Rule quantised_moves{"quantised_moves", quantised_moves_at};

}  // namespace sdx::rewrite
