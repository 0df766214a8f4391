// Derivatives of reductions: what arrives at a result goes back to every element that it was made
// of.
#include "gradient/rule.h"
#include "ops/reduction/reduce.h"

namespace sdx::gradient {
namespace {

struct Reduced {
  std::vector<int64_t> axes;  // not negative
  bool keepdims;
};

Reduced reduced(const Step& s) {
  const auto rank = int64_t(s.b.rank(s.x()));
  const auto& a = s.as<ops::Reduce>();
  Reduced r{a.axes, a.keep};
  if (a.dynamic) s.b.refuse(fail("SDX-D0004", "the axes of a reduction must be constant"));
  if (r.axes.empty() && !a.noop) {
    for (int64_t i = 0; i < rank; ++i) r.axes.push_back(i);
  }
  for (int64_t& axis : r.axes) axis += axis < 0 ? rank : 0;
  return r;
}

// A wire of the result's shape, with the reduced axes back in place as ones.
Outlet opened(const Step& s, Outlet wire) {
  const Reduced r = reduced(s);
  return r.keepdims || r.axes.empty() ? wire : s.b.op("Unsqueeze", {wire, s.b.ints(r.axes)});
}
Outlet spread(const Step& s, Outlet wire) {
  return s.b.op("Expand", {opened(s, wire), s.b.shape(s.x())});
}

Outlets mean(const Step& s) {
  Builder& b = s.b;
  const Outlet count = b.op("Div", {b.op("Size", {s.x()}), b.op("Size", {s.y()})});
  return {b.div(spread(s, s.g()), b.cast(count, b.type(s.x())))};
}

Outlets norm2(const Step& s) {
  Builder& b = s.b;
  const DType type = b.type(s.x());
  const Outlet zero = b.op("Equal", {s.y(), b.number(0, type)});
  const Outlet norm = b.op("Where", {zero, b.number(1, type), s.y()});
  return {b.mul(s.x(), opened(s, b.div(s.g(), norm)))};
}

// ReduceMax and ReduceMin: equal extremes share the derivative.
Outlets extreme(const Step& s) {
  Builder& b = s.b;
  const Outlet chosen = b.cast(b.op("Equal", {s.x(), opened(s, s.y())}), b.type(s.x()));
  return {b.mul(chosen, b.div(opened(s, s.g()), b.sum(chosen, reduced(s).axes)))};
}

// Axis by axis; along one axis the derivative is the product of all other elements, zeros or not.
Outlets product(const Step& s) {
  Builder& b = s.b;
  const Reduced r = reduced(s);
  if (r.axes.empty()) return {s.g()};
  if (r.axes.size() == 1) {
    const Outlet axis = b.op("Squeeze", {b.ints(r.axes)});
    const int64_t one = 1;
    const Outlet before = b.op("CumProd", {s.x(), axis}, {{"exclusive", one}});
    const Outlet after = b.op("CumProd", {s.x(), axis}, {{"exclusive", one}, {"reverse", one}});
    return {b.mul(b.mul(before, after), opened(s, s.g()))};
  }
  Outlet y = s.x();
  for (const int64_t axis : r.axes) y = b.op("ReduceProd", {y, b.ints({axis})});
  return s.through({r.keepdims ? y : b.op("Squeeze", {y, b.ints(r.axes)})});
}

constexpr Entry kReductionRules[] = {
    {"ReduceSum", [](const Step& s) -> Outlets { return {spread(s, s.g())}; }},
    {"ReduceMean", mean},
    {"ReduceSumSquare",
     [](const Step& s) -> Outlets { return {s.b.mul(s.b.times(s.x(), 2), opened(s, s.g()))}; }},
    {"ReduceL1",
     [](const Step& s) -> Outlets { return {s.b.mul(s.b.op("Sign", {s.x()}), opened(s, s.g()))}; }},
    {"ReduceL2", norm2},
    {"ReduceLogSum",
     [](const Step& s) -> Outlets { return {spread(s, s.b.div(s.g(), s.b.op("Exp", {s.y()})))}; }},
    {"ReduceLogSumExp",
     [](const Step& s) -> Outlets {
       return {s.b.mul(s.b.op("Exp", {s.b.sub(s.x(), opened(s, s.y()))}), opened(s, s.g()))};
     }},
    {"ReduceMax", extreme},
    {"ReduceMin", extreme},
    {"ReduceProd", product},
};

}  // namespace

std::span<const Entry> reduction_rules() { return kReductionRules; }

}  // namespace sdx::gradient
