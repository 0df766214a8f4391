// A Conv of 1 x 1 that only a depthwise one reads is computed with it, in strips that stay in
// cache.
//
//   y = ConvBlocked(f(ConvBlocked(x, w)), v)   ->   y = ConvPairBlocked[f](x, w, v)
//
// f is nothing or one element-wise operation of one operand. Both convolutions keep their chains.
// It is worth it where the wire between them is too large for the second-level cache.
#include <algorithm>

#include "ops/conv/blocked.h"
#include "ops/elementwise/elementwise.h"
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

constexpr int64_t kLargeWire = 300000;  // floats of an image

bool is_large(const Fact& wire) {
  int64_t floats = 1;
  for (size_t i = 1; i < wire.rank(); ++i) {
    if (!wire.dim(i).is_const()) return false;
    floats *= wire.dim(i).value();
  }
  return floats >= kLargeWire;
}

bool all_are(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t x) { return x == value; });
}

bool is_pointwise(const Rewriting& r, const Node& conv) {
  const Fact& w = r.old.fact(conv.inputs[1]);
  const auto& [window, group, plain] = conv.as<ops::ConvBlocked>();
  return group == 1 && !plain && w.dim(2).is_const(1) && w.dim(3).is_const(1) &&
         all_are(window.strides, 1) && all_are(window.begin, 0) && all_are(window.end, 0);
}

// Every channel is a group of its own.
bool is_depthwise(const Rewriting& r, const Node& conv) {
  const Fact& w = r.old.fact(conv.inputs[1]);
  const int64_t group = conv.as<ops::ConvBlocked>().group;
  return group > 1 && w.dim(0).is_const(group) && w.dim(1).is_const(1);
}

Result<Wires> join_convs_at(Rewriting& r, uint32_t id) {
  const Node& second = r.old.node(id);
  if (!second.is(ops::conv_blocked) || !is_depthwise(r, second) ||
      !is_large(r.old.fact(second.inputs[0]))) {
    return Wires();
  }
  std::vector<const Node*> stands_for;
  std::vector<std::string> between;
  Outlet wire = second.inputs[0];
  if (const Node* step = r.only_from(wire, ops::elementwise)) {
    if (step->inputs.size() != 1) return Wires();
    const Program& program = step->as<ops::Elementwise>().program;
    if (program.as_unary() == nullptr) return Wires();
    between = program.text();
    wire = step->inputs[0];
    stands_for.push_back(step);
  }
  const Node* first = r.only_from(wire, ops::conv_blocked);
  if (first == nullptr || !is_pointwise(r, *first)) return Wires();
  stands_for.insert(stands_for.begin(), first);
  stands_for.push_back(&second);
  const auto input = [&](const Node& node, size_t i) {
    return i < node.inputs.size() && node.inputs[i].present() ? r.now(node.inputs[i]) : Outlet();
  };
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add_like(second, ops::conv_pair_blocked, {{"between", between}},
                        {input(*first, 0), input(*first, 1), input(second, 1), input(*first, 2),
                         input(second, 2)},
                        stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule join_convs{"join_convs", join_convs_at};

}  // namespace sdx::rewrite
