// Derivatives of operators that move elements without changing them.
#include "gradient/rule.h"
#include "ops/tensor/concat.h"
#include "ops/tensor/cumulative.h"
#include "ops/tensor/pad.h"
#include "ops/tensor/scatter.h"
#include "ops/tensor/split.h"
#include "ops/tensor/top_k.h"
#include "ops/tensor/transpose.h"

namespace sdx::gradient {
namespace {

Outlets reshape(const Step& s) { return {s.b.reshape(s.g(), s.x())}; }

Outlets transpose(const Step& s) {
  const size_t rank = s.b.rank(s.x());
  std::vector<int64_t> back(rank);
  for (size_t i = 0; i < rank; ++i) back[s.as<ops::Transpose>().axis(i, rank)] = int64_t(i);
  return {s.b.transpose(s.g(), back)};
}

int64_t axis_in(const Step& s, Outlet x, int64_t axis) {
  return axis < 0 ? axis + int64_t(s.b.rank(x)) : axis;
}

Outlets concat(const Step& s) {
  Builder& b = s.b;
  const int64_t axis = axis_in(s, s.y(), s.as<ops::Concat>().axis);
  if (s.in.size() == 1) return {s.g()};
  Outlets sizes;
  for (const Outlet x : s.in)
    sizes.push_back(b.op("Shape", {x}, {{"start", axis}, {"end", axis + 1}}));
  const Outlet split = b.op("Concat", sizes, {{"axis", int64_t{0}}});
  return b.ops("Split", {s.g(), split}, {{"axis", axis}}, s.in.size());
}

Outlets split(const Step& s) {
  Builder& b = s.b;
  Outlets parts;
  for (size_t i = 0; i < s.out.size(); ++i) {
    if (!s.out[i].present()) {
      b.refuse(fail("SDX-D0005", "every output of a Split must be named to differentiate it"));
      return {};
    }
    parts.push_back(s.grad[i].present() ? s.grad[i] : b.zeros(s.out[i]));
  }
  return {b.op("Concat", parts, {{"axis", axis_in(s, s.x(), s.as<ops::Split>().axis)}})};
}

// The operator picks elements of its first input: it is shown their numbers, from 1, and what
// arrives at each result is added to the element that it came from. Number 0 is what it fills in
// itself. The numbers are doubles, which every version takes.
template <class Again>
Outlets pick_by(const Step& s, const Again& again) {
  Builder& b = s.b;
  const Outlet count = b.op("Size", {s.x()});
  const Outlet one = b.op("Squeeze", {b.ints({1})});
  const Outlet numbers = b.op("Range", {one, b.add(count, one), one});
  const Outlet picked = b.cast(again(b.reshape(b.cast(numbers, DType::f64), s.x())), DType::i64);
  const Outlet from = b.op("Reshape", {picked, b.ints({-1})});
  const Outlet none = b.op(
      "Expand", {b.number(0, b.type(s.g())), b.op("Unsqueeze", {b.add(count, one), b.ints({0})})});
  const Outlet sums = b.op("ScatterElements", {none, from, b.op("Reshape", {s.g(), b.ints({-1})})},
                           {{"reduction", std::string("add")}});
  const Outlet kept = b.op("Slice", {sums, b.ints({1}), b.ints({INT64_MAX})});
  return {b.reshape(kept, s.x())};
}

Outlets pick(const Step& s) {
  return pick_by(s, [&](Outlet numbers) {
    Outlets in = s.in;
    in[0] = numbers;
    return s.b.again(s.node, in)[0];
  });
}

Outlets pad(const Step& s) {
  using Mode = ops::Pad::Mode;
  const auto& a = s.as<ops::Pad>();
  const std::string mode = a.mode == Mode::reflect ? "reflect"
                           : a.mode == Mode::edge  ? "edge"
                           : a.mode == Mode::wrap  ? "wrap"
                                                   : "constant";
  Outlets grads = pick_by(s, [&](Outlet numbers) {
    Outlets in{numbers, a.pads ? s.b.ints(*a.pads) : s.in[1]};
    if (s.has(3)) in.insert(in.end(), {Outlet{}, s.in[3]});
    return s.b.op("Pad", in, {{"mode", mode}});
  });
  if (s.has(2) && a.mode == Mode::constant) {
    // What the padding holds is the value, as often as it was put there.
    const auto all = [&](Outlet wire) {
      return s.b.op("ReduceSum", {wire}, {{"keepdims", int64_t{0}}});
    };
    grads.resize(3);
    grads[2] = s.b.reshape(s.b.sub(all(s.g()), all(grads[0])), s.in[2]);
  }
  return grads;
}

Outlets cumsum(const Step& s) {
  const auto& a = s.as<ops::Cumulative>();
  AttrMap attrs{{"exclusive", int64_t{a.exclusive}}, {"reverse", int64_t{!a.reverse}}};
  return {s.b.op("CumSum", {s.g(), s.in[1]}, std::move(attrs))};
}

// ScatterElements and ScatterND: data, indices, updates.
Outlets scatter(const Step& s, ops::ScatterReduction reduction, std::string_view op,
                std::string_view gather, const AttrMap& axis) {
  using Reduction = ops::ScatterReduction;
  Builder& b = s.b;
  if (reduction != Reduction::none && reduction != Reduction::add) {
    b.refuse(fail("SDX-D0001", "operator {} with a reduction other than add has no derivative rule",
                  s.name()));
    return {};
  }
  const Outlet data =
      reduction == Reduction::add ? s.g() : b.op(op, {s.g(), s.in[1], b.zeros(s.in[2])}, axis);
  return {data, {}, b.op(gather, {s.g(), s.in[1]}, axis)};
}
Outlets scatter_elements(const Step& s) {
  const auto& [axis, reduction] = s.as<ops::ScatterElements>();
  return scatter(s, reduction, "ScatterElements", "GatherElements", {{"axis", axis}});
}
Outlets scatter_nd(const Step& s) {
  return scatter(s, s.as<ops::ScatterNd>().reduction, "ScatterND", "GatherND", {});
}

Outlets top_k(const Step& s) {
  Builder& b = s.b;
  const auto& a = s.as<ops::TopK>();
  const Outlet indices = b.ops("TopK", {s.x(), a.k ? b.ints(*a.k) : s.in[1]},
                               {{"axis", a.axis}, {"largest", int64_t{a.largest}}}, 2)[1];
  return s.through({b.op("GatherElements", {s.x(), indices}, {{"axis", a.axis}})});
}

constexpr Entry kMoveRules[] = {
    {"Reshape", reshape},
    {"Flatten", reshape},
    {"Squeeze", reshape},
    {"Unsqueeze", reshape},
    {"Transpose", transpose},
    {"Concat", concat},
    {"Split", split},
    {"CumSum", cumsum},
    {"ScatterElements", scatter_elements},
    {"Scatter", scatter_elements},
    {"ScatterND", scatter_nd},
    {"TopK", top_k},
    {"Pad", pad},
    {"Slice", pick},
    {"Gather", pick},
    {"GatherElements", pick},
    {"GatherND", pick},
    {"Tile", pick},
    {"DepthToSpace", pick},
    {"SpaceToDepth", pick},
    {"ReverseSequence", pick},
    {"Compress", pick},
    {"Trilu", pick},
    {"CenterCropPad", pick},
    {"Expand", [](const Step& s) -> Outlets { return {s.b.unbroadcast(s.g(), s.x())}; }},
};

}  // namespace

std::span<const Entry> move_rules() { return kMoveRules; }

}  // namespace sdx::gradient
