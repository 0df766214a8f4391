// Derivatives of element-wise operators of several inputs, which broadcast.
#include "gradient/rule.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/parameters.h"

namespace sdx::gradient {
namespace {

// The second operand as it lines up with the first, some of whose last axes it may lack.
Outlet second(const Step& s) {
  const size_t trail = s.as<ops::Binary>().trail;
  if (trail == 0) return s.in[1];
  std::vector<int64_t> axes;
  for (size_t i = 0; i < trail; ++i) axes.push_back(int64_t(s.b.rank(s.in[1]) + i));
  return s.b.op("Unsqueeze", {s.in[1], s.b.ints(axes)});
}

// `to_a` and `to_b` as long as the result, brought to the operands' shapes.
Outlets both(const Step& s, Outlet to_a, Outlet aligned, Outlet to_b) {
  const Outlet back = s.b.unbroadcast(to_b, aligned);
  return {s.b.unbroadcast(to_a, s.in[0]), aligned == s.in[1] ? back : s.b.reshape(back, s.in[1])};
}

Outlets pow(const Step& s) {
  Builder& b = s.b;
  const Outlet x = s.x(), n = b.cast(second(s), b.type(x));
  const Outlet to_x = b.mul(n, b.op("Pow", {x, b.plus(n, -1)}));
  // 0^n stays 0 however n changes, and a negative base has no neighbours in n.
  const Outlet positive = b.less(b.number(0, b.type(x)), x);
  const Outlet log = b.op("Log", {b.op("Where", {positive, x, b.number(1, b.type(x))})});
  Outlets grads = both(s, b.mul(s.g(), to_x), n, b.mul(s.g(), b.mul(s.y(), log)));
  grads[1] = b.cast(grads[1], b.type(s.in[1]));
  return grads;
}

Outlets prelu(const Step& s) {
  Builder& b = s.b;
  const Outlet below = b.less(s.x(), b.number(0, b.type(s.x())));
  const Outlet slope = second(s);
  return both(s, b.op("Where", {below, b.mul(s.g(), slope), s.g()}), slope,
              b.only(below, b.mul(s.g(), s.x())));
}

// Max and Min: equal extremes share the derivative.
Outlets extreme(const Step& s) {
  Builder& b = s.b;
  Outlets shares;
  Outlet count;
  for (const Outlet x : s.in) {
    shares.push_back(b.cast(b.op("Equal", {x, s.y()}), b.type(s.y())));
    count = count.present() ? b.add(count, shares.back()) : shares.back();
  }
  const Outlet part = b.div(s.g(), count);
  for (size_t i = 0; i < s.in.size(); ++i)
    shares[i] = b.unbroadcast(b.mul(part, shares[i]), s.in[i]);
  return shares;
}

Outlets clip(const Step& s) {
  Builder& b = s.b;
  const auto& a = s.as<ops::Clip>();
  const auto bound = [&](size_t i, const std::optional<float>& fixed) -> Outlet {
    if (fixed) return s.number(*fixed);
    return s.has(i) ? s.in[i] : Outlet{};
  };
  const Outlet low = bound(1, a.low), high = bound(2, a.high);
  const Outlet below = low.present() ? b.less(s.x(), low) : Outlet{};
  const Outlet above = high.present() ? b.less(high, s.x()) : Outlet{};
  Outlets grads{s.g(), {}, {}};
  if (below.present()) {
    grads[0] = b.only(b.op("Not", {below}), grads[0]);
    grads[1] = b.unbroadcast(b.only(below, s.g()), low);
  }
  if (above.present()) {
    grads[0] = b.only(b.op("Not", {above}), grads[0]);
    grads[2] = b.unbroadcast(b.only(above, s.g()), high);
  }
  return grads;
}

constexpr Entry kBinaryRules[] = {
    {"Add", [](const Step& s) { return both(s, s.g(), second(s), s.g()); }},
    {"Sub", [](const Step& s) { return both(s, s.g(), second(s), s.b.neg(s.g())); }},
    {"Mul",
     [](const Step& s) {
       const Outlet v = second(s);
       return both(s, s.b.mul(s.g(), v), v, s.b.mul(s.g(), s.x()));
     }},
    {"Div",
     [](const Step& s) {
       const Outlet v = second(s), ratio = s.b.div(s.g(), v);
       return both(s, ratio, v, s.b.neg(s.b.mul(ratio, s.y())));
     }},
    {"Pow", pow},
    {"PRelu", prelu},
    {"Max", extreme},
    {"Min", extreme},
    {"Clip", clip},
    {"Sum",
     [](const Step& s) {
       Outlets grads;
       for (const Outlet x : s.in) grads.push_back(s.b.unbroadcast(s.g(), x));
       return grads;
     }},
    {"Mean",
     [](const Step& s) {
       const Outlet part = s.b.over(s.g(), double(s.in.size()));
       Outlets grads;
       for (const Outlet x : s.in) grads.push_back(s.b.unbroadcast(part, x));
       return grads;
     }},
    {"Where",
     [](const Step& s) -> Outlets {
       const Outlet yes = s.b.only(s.in[0], s.g());
       const Outlet no = s.b.only(s.b.op("Not", {s.in[0]}), s.g());
       return {{}, s.b.unbroadcast(yes, s.in[1]), s.b.unbroadcast(no, s.in[2])};
     }},
};

}  // namespace

std::span<const Entry> binary_rules() { return kBinaryRules; }

}  // namespace sdx::gradient
