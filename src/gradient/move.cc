// Derivatives of operators that move elements without changing them.
#include "gradient/rule.h"

namespace sdx::gradient {
namespace {

Outlets reshape(const Step& s) { return {s.b.reshape(s.g(), s.x())}; }

Outlets transpose(const Step& s) {
  const size_t rank = s.b.rank(s.x());
  const std::vector<int64_t> perm = s.use.ints_or_empty("perm");
  std::vector<int64_t> back(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (perm.empty()) back[i] = int64_t(rank - 1 - i);
    if (!perm.empty()) back[size_t(perm[i])] = int64_t(i);
  }
  return {s.b.transpose(s.g(), back)};
}

int64_t axis_of(const Step& s, Outlet x) {
  const int64_t axis = s.use.i("axis");
  return axis < 0 ? axis + int64_t(s.b.rank(x)) : axis;
}

Outlets concat(const Step& s) {
  Builder& b = s.b;
  const int64_t axis = axis_of(s, s.y());
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
  return {b.op("Concat", parts, {{"axis", axis_of(s, s.x())}})};
}

// The operator picks elements of its first input: it is shown their numbers, from 1, and what
// arrives at each result is added to the element that it came from. Number 0 is what it fills in
// itself. The numbers are doubles, which every version takes.
Outlets pick(const Step& s) {
  Builder& b = s.b;
  const Outlet count = b.op("Size", {s.x()});
  const Outlet one = b.op("Squeeze", {b.ints({1})});
  const Outlet numbers = b.op("Range", {one, b.add(count, one), one});
  Outlets in = s.in;
  in[0] = b.reshape(b.cast(numbers, DType::f64), s.x());
  sdx::Node use = s.use;
  if (use.op->name == "Pad" && in.size() > 2) in[2] = {};
  use.attrs.erase("value");
  const Outlet picked = b.cast(b.again(use, in)[0], DType::i64);
  const Outlet from = b.op("Reshape", {picked, b.ints({-1})});
  const Outlet none = b.op(
      "Expand", {b.number(0, b.type(s.g())), b.op("Unsqueeze", {b.add(count, one), b.ints({0})})});
  const Outlet sums = b.op("ScatterElements", {none, from, b.op("Reshape", {s.g(), b.ints({-1})})},
                           {{"reduction", std::string("add")}});
  const Outlet kept = b.op("Slice", {sums, b.ints({1}), b.ints({INT64_MAX})});
  return {b.reshape(kept, s.x())};
}

Outlets pad(const Step& s) {
  const std::string mode = s.use.s("mode");
  Outlets grads = pick(s);
  if (s.has(2) && mode == "constant") {
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
  AttrMap attrs{{"exclusive", s.use.i("exclusive")}, {"reverse", 1 - s.use.i("reverse")}};
  return {s.b.op("CumSum", {s.g(), s.in[1]}, std::move(attrs))};
}

// ScatterElements and ScatterND: data, indices, updates.
Outlets scatter(const Step& s) {
  Builder& b = s.b;
  const std::string mode = s.use.has("reduction") ? s.use.s("reduction") : "none";
  if (mode != "none" && mode != "add") {
    b.refuse(fail("SDX-D0001", "operator {} with reduction {} has no derivative rule",
                  s.use.op->name, mode));
    return {};
  }
  const bool nd = s.use.op->name == "ScatterND";
  AttrMap axis;
  if (!nd) axis.emplace("axis", s.use.i("axis"));
  const Outlet updates =
      nd ? b.op("GatherND", {s.g(), s.in[1]}) : b.op("GatherElements", {s.g(), s.in[1]}, axis);
  const Outlet data = mode == "add"
                          ? s.g()
                          : b.op(s.use.op->name == "Scatter" ? "ScatterElements" : s.use.op->name,
                                 {s.g(), s.in[1], b.zeros(s.in[2])}, axis);
  return {data, {}, updates};
}

Outlets top_k(const Step& s) {
  Builder& b = s.b;
  sdx::Node use = s.use;
  use.wanted.assign(2, true);
  const Outlet indices = b.again(use, s.in)[1];
  return s.through({b.op("GatherElements", {s.x(), indices}, {{"axis", s.use.i("axis")}})});
}

constexpr Entry kRules[] = {
    {"Reshape", reshape},
    {"Flatten", reshape},
    {"Squeeze", reshape},
    {"Unsqueeze", reshape},
    {"Transpose", transpose},
    {"Concat", concat},
    {"Split", split},
    {"CumSum", cumsum},
    {"ScatterElements", scatter},
    {"Scatter", scatter},
    {"ScatterND", scatter},
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

std::span<const Entry> move_rules() { return kRules; }

}  // namespace sdx::gradient
