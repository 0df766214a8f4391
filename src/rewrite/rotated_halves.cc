// Rotary position embedding, as exporters write it, becomes one operation.
//
//   x * cos + Concat(Neg(x[h:]), x[:h]) * sin   ->   RotateHalves(x, cos, sin)
//   RotateHalves(x, cos, sin) * c               ->   RotateHalves[scale c](x, cos, sin)
//
// The halves are of the last axis, cut by Slice or Split; factors and terms may stand in either
// order, c is a constant scalar.
#include "ops/attention/rotate_halves.h"
#include "ops/list.h"
#include "ops/tensor/concat.h"
#include "ops/tensor/split.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

bool is_last(int64_t axis, const Fact& x) { return axis == -1 || axis == int64_t(x.rank()) - 1; }

// x, if the wire is its first half along the last axis, or its second.
std::optional<Outlet> half_of(const Rewriting& r, Outlet wire, bool second) {
  const Node& node = r.old.node(wire.node);
  if (node.kind != Node::Kind::op || node.inputs.empty() || r.uses(wire) != 1) return std::nullopt;
  const Outlet x = node.inputs[0];
  const Fact& fact = r.old.fact(x);
  if (!fact.has_rank() || fact.rank() == 0 || !fact.shape->back().is_const()) return std::nullopt;
  const int64_t size = fact.shape->back().value(), half = size / 2;
  const Fact& piece = r.old.fact(wire);
  if (size % 2 != 0 || !piece.has_rank() || !piece.shape->back().is_const(half))
    return std::nullopt;
  if (node.use.op == &ops::split) {
    const bool halves = node.outputs.size() == 2 && is_last(node.as<ops::Split>().axis, fact);
    return halves && wire.slot == (second ? 1u : 0u) ? std::optional(x) : std::nullopt;
  }
  if (node.use.op != &ops::slice || node.inputs.size() < 4) return std::nullopt;
  const auto ints = [&](size_t i) {
    const bool given = i < node.inputs.size() && node.inputs[i].present();
    return given ? r.old.fact(node.inputs[i]).constant_integers().value_or(std::vector<int64_t>{})
                 : std::vector<int64_t>{1};
  };
  const auto starts = ints(1), axes = ints(3), steps = ints(4);
  if (starts.size() != 1 || axes.size() != 1 || steps.size() != 1 || steps[0] != 1 ||
      !is_last(axes[0], fact)) {
    return std::nullopt;
  }
  // With its size known, where it starts says all.
  const int64_t start = starts[0] < 0 ? starts[0] + size : starts[0];
  return start == (second ? half : 0) ? std::optional(x) : std::nullopt;
}

// x, if the wire is (-second half of x, first half of x).
std::optional<Outlet> turned(const Rewriting& r, Outlet wire) {
  const Node* joined = r.only_from(wire, ops::concat);
  if (joined == nullptr || joined->inputs.size() != 2 || !joined->outputs[0].has_rank() ||
      !is_last(joined->as<ops::Concat>().axis, joined->outputs[0])) {
    return std::nullopt;
  }
  const Node* negative = r.only_from(joined->inputs[0], ops::neg);
  if (negative == nullptr) return std::nullopt;
  const auto one = half_of(r, joined->inputs[1], false),
             two = half_of(r, negative->inputs[0], true);
  return one && one == two ? one : std::nullopt;
}

Result<Wires> rotation(Rewriting& r, const Node& sum) {
  for (const size_t i : {0, 1}) {
    const Node* straight = r.only_from(sum.inputs[i], ops::mul);
    const Node* across = r.only_from(sum.inputs[1 - i], ops::mul);
    if (straight == nullptr || across == nullptr) return Wires();
    for (const size_t k : {0, 1}) {
      const auto x = turned(r, across->inputs[k]);
      if (!x) continue;
      const Fact& fact = r.old.fact(*x);
      const size_t at = straight->inputs[0] == *x ? 0 : 1;
      if (straight->inputs[at] != *x || *fact.shape != *sum.outputs[0].shape) continue;
      const Outlet cos = straight->inputs[1 - at], sin = across->inputs[1 - k];
      const auto whole = [&](Outlet wire) {
        const Fact& angles = r.old.fact(wire);
        return angles.has_rank() && angles.rank() > 0 && angles.rank() <= fact.rank() &&
               angles.shape->back() == fact.shape->back();
      };
      if (!whole(cos) || !whole(sin)) continue;
      const Node* stands_for[] = {straight, across, &sum};
      SDX_ASSIGN(std::vector<Outlet> wires,
                 r.add(ops::rotate_halves, {}, {r.now(*x), r.now(cos), r.now(sin)}, 1, stands_for));
      return Wires(std::move(wires));
    }
  }
  return Wires();
}

Result<Wires> scaled(Rewriting& r, const Node& product) {
  for (const size_t i : {0, 1}) {
    const Fact& scale = r.old.fact(product.inputs[1 - i]);
    if (!scale.value || scale.value->count() != 1 || r.uses(product.inputs[i]) != 1) continue;
    const Node rotated = r.made.node(r.now(product.inputs[i]).node);
    if (!rotated.is(ops::rotate_halves) || rotated.as<ops::RotateHalves>().scale ||
        scale.rank() > rotated.outputs[0].rank()) {
      continue;
    }
    const Node* stands_for[] = {&rotated, &product};
    SDX_ASSIGN(std::vector<Outlet> wires,
               r.add(ops::rotate_halves, {{"scale", *scale.value->data<float>()}}, rotated.inputs,
                     1, stands_for));
    return Wires(std::move(wires));
  }
  return Wires();
}

Result<Wires> rotated_halves_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.outputs[0].type != DType::f32 || !node.outputs[0].has_rank()) return Wires();
  if (node.use.op == &ops::add) return rotation(r, node);
  if (node.use.op == &ops::mul) return scaled(r, node);
  return Wires();
}

}  // namespace

const Rule rotated_halves{"rotated_halves", rotated_halves_at};

}  // namespace sdx::rewrite
