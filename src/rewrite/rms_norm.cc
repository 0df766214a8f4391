// A root mean square normalisation, as exporters write it, becomes one operation.
//
//   w * (x * (1 / sqrt(ReduceMean(x ^ 2) + e)))   ->   RMSNormalization(x, w)      e a constant
//
// The mean is along the last axis. x ^ 2 may be Pow or Mul, the reciprocal Reciprocal or Div; the
// products' factors may stand in either order. RMSNormalization performs the same rounded
// operations: Pow(x, 2) is x * x to the bit.
#include "ops/list.h"
#include "ops/reduction/reduce.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

// The value of a constant f32 scalar.
std::optional<float> scalar(const Rewriting& r, Outlet wire) {
  const Fact& fact = r.old.fact(wire);
  if (!fact.value || fact.type != DType::f32 || fact.value->count() != 1) return std::nullopt;
  return *fact.value->data<float>();
}

bool is_square(const Rewriting& r, const Node& node, Outlet x) {
  if (node.use.op == &ops::mul) return node.inputs[0] == x && node.inputs[1] == x;
  return node.use.op == &ops::pow && node.inputs[0] == x && scalar(r, node.inputs[1]) == 2.0f;
}

bool along_last_axis(const Rewriting& r, const Node& mean) {
  const Fact& x = r.old.fact(mean.inputs[0]);
  const auto& a = mean.as<ops::Reduce>();
  return x.has_rank() && a.keep && !a.dynamic && a.axes.size() == 1 &&
         (a.axes[0] == -1 || a.axes[0] == int64_t(x.rank()) - 1);
}

// 1 / x: what x is.
std::optional<Outlet> inverted(const Rewriting& r, Outlet wire) {
  if (const Node* node = r.only_from(wire, ops::reciprocal)) return node->inputs[0];
  const Node* node = r.only_from(wire, ops::div);
  if (node == nullptr || scalar(r, node->inputs[0]) != 1.0f) return std::nullopt;
  return node->inputs[1];
}

// epsilon, if `wire` is 1 / sqrt(mean of x ^ 2 + epsilon).
std::optional<float> inverse_root(const Rewriting& r, Outlet wire, Outlet x) {
  const auto root = inverted(r, wire);
  if (!root) return std::nullopt;
  const Node* sqrt = r.only_from(*root, ops::sqrt);
  const Node* sum = sqrt == nullptr ? nullptr : r.only_from(sqrt->inputs[0], ops::add);
  for (size_t i = 0; sum != nullptr && i < 2; ++i) {
    const auto epsilon = scalar(r, sum->inputs[1 - i]);
    const Node* mean = r.only_from(sum->inputs[i], ops::reduce_mean);
    if (!epsilon || mean == nullptr || !along_last_axis(r, *mean)) continue;
    const Outlet squares = mean->inputs[0];
    const Node& square = r.old.node(squares.node);
    if (r.uses(squares) == 1 && square.kind == Node::Kind::op && is_square(r, square, x) &&
        *r.old.fact(x).shape == *square.outputs[0].shape) {
      return epsilon;
    }
  }
  return std::nullopt;
}

Result<Wires> rms_norm_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.use.op != &ops::mul || node.outputs[0].type != DType::f32) return Wires();
  for (const size_t i : {0, 1}) {
    const Outlet weights = node.inputs[1 - i];
    const Node* scaled = r.only_from(node.inputs[i], ops::mul);
    const Fact& w = r.old.fact(weights);
    if (scaled == nullptr || !w.has_rank() || w.rank() != 1) continue;
    for (const size_t k : {0, 1}) {
      const Outlet x = scaled->inputs[k];
      const Fact& fact = r.old.fact(x);
      if (!fact.has_rank() || fact.rank() < 1 || fact.shape->back() != w.dim(0)) continue;
      const auto epsilon = inverse_root(r, scaled->inputs[1 - k], x);
      if (!epsilon) continue;
      const Node* stands_for[] = {scaled, &node};
      SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::rms_normalization, {{"epsilon", *epsilon}},
                                                  {r.now(x), r.now(weights)}, 1, stands_for));
      return Wires(std::move(wires));
    }
  }
  return Wires();
}

}  // namespace

const Rule rms_norm{"rms_norm", rms_norm_at};

}  // namespace sdx::rewrite
