// Derivatives of functions of one element: x is the input, y the output, g the derivative that
// arrives.
#include <numbers>

#include "gradient/rule.h"
#include "ops/elementwise/parameters.h"

namespace sdx::gradient {
namespace {

Outlet alpha(const Step& s) { return s.number(s.as<ops::Unary>().p); }
Outlet gamma(const Step& s) { return s.number(s.as<ops::Unary>().q); }

Outlet one_minus_square(Builder& b, Outlet v) { return b.minus_from(1, b.square(v)); }

Outlets gelu(const Step& s) {
  Builder& b = s.b;
  const Outlet x = s.x();
  Outlet inner;
  if (s.as<ops::Unary>().flag) {
    const Outlet cube = b.mul(b.square(x), x);
    inner = b.op("Tanh", {b.times(b.add(x, b.times(cube, 0.044715)),
                                  std::numbers::sqrt2 * std::numbers::inv_sqrtpi)});
  } else {
    inner = b.op("Erf", {b.over(x, std::numbers::sqrt2)});
  }
  return s.through({b.times(b.mul(x, b.plus(inner, 1)), .5)});
}

constexpr Entry kUnaryRules[] = {
    {"Identity", [](const Step& s) -> Outlets { return {s.g()}; }},
    {"Neg", [](const Step& s) -> Outlets { return {s.b.neg(s.g())}; }},
    {"Abs", [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.b.op("Sign", {s.x()}))}; }},
    {"Reciprocal",
     [](const Step& s) -> Outlets { return {s.b.neg(s.b.mul(s.g(), s.b.square(s.y())))}; }},
    {"Sqrt", [](const Step& s) -> Outlets { return {s.b.div(s.g(), s.b.times(s.y(), 2))}; }},
    {"Exp", [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.y())}; }},
    {"Log", [](const Step& s) -> Outlets { return {s.b.div(s.g(), s.x())}; }},
    {"Erf",
     [](const Step& s) -> Outlets {
       const Outlet bell = s.b.op("Exp", {s.b.neg(s.b.square(s.x()))});
       return {s.b.mul(s.g(), s.b.times(bell, 2 * std::numbers::inv_sqrtpi))};
     }},
    // Steps: flat almost everywhere.
    {"Floor", [](const Step&) -> Outlets { return {}; }},
    {"Ceil", [](const Step&) -> Outlets { return {}; }},
    {"Round", [](const Step&) -> Outlets { return {}; }},
    {"Sign", [](const Step&) -> Outlets { return {}; }},
    {"Hardmax", [](const Step&) -> Outlets { return {}; }},

    {"Sin", [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.b.op("Cos", {s.x()}))}; }},
    {"Cos",
     [](const Step& s) -> Outlets { return {s.b.neg(s.b.mul(s.g(), s.b.op("Sin", {s.x()})))}; }},
    {"Tan",
     [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.b.plus(s.b.square(s.y()), 1))}; }},
    {"Asin",
     [](const Step& s) -> Outlets {
       return {s.b.div(s.g(), s.b.op("Sqrt", {one_minus_square(s.b, s.x())}))};
     }},
    {"Acos",
     [](const Step& s) -> Outlets {
       return {s.b.neg(s.b.div(s.g(), s.b.op("Sqrt", {one_minus_square(s.b, s.x())})))};
     }},
    {"Atan",
     [](const Step& s) -> Outlets { return {s.b.div(s.g(), s.b.plus(s.b.square(s.x()), 1))}; }},
    {"Sinh", [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.b.op("Cosh", {s.x()}))}; }},
    {"Cosh", [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.b.op("Sinh", {s.x()}))}; }},
    {"Tanh",
     [](const Step& s) -> Outlets { return {s.b.mul(s.g(), one_minus_square(s.b, s.y()))}; }},
    {"Asinh",
     [](const Step& s) -> Outlets {
       return {s.b.div(s.g(), s.b.op("Sqrt", {s.b.plus(s.b.square(s.x()), 1)}))};
     }},
    {"Acosh",
     [](const Step& s) -> Outlets {
       return {s.b.div(s.g(), s.b.op("Sqrt", {s.b.plus(s.b.square(s.x()), -1)}))};
     }},
    {"Atanh",
     [](const Step& s) -> Outlets { return {s.b.div(s.g(), one_minus_square(s.b, s.x()))}; }},

    {"Relu",
     [](const Step& s) -> Outlets {
       return {s.b.only(s.b.less(s.b.number(0, s.b.type(s.x())), s.x()), s.g())};
     }},
    {"LeakyRelu",
     [](const Step& s) -> Outlets {
       const Outlet below = s.b.less(s.x(), s.b.number(0, s.b.type(s.x())));
       return {s.b.op("Where", {below, s.b.mul(s.g(), alpha(s)), s.g()})};
     }},
    {"ThresholdedRelu",
     [](const Step& s) -> Outlets { return {s.b.only(s.b.less(alpha(s), s.x()), s.g())}; }},
    {"Elu",
     [](const Step& s) -> Outlets {
       const Outlet below = s.b.less(s.x(), s.b.number(0, s.b.type(s.x())));
       const Outlet slope = s.b.add(s.y(), alpha(s));
       return {s.b.op("Where", {below, s.b.mul(s.g(), slope), s.g()})};
     }},
    {"Celu",
     [](const Step& s) -> Outlets {
       const Outlet below = s.b.less(s.x(), s.b.number(0, s.b.type(s.x())));
       const Outlet slope = s.b.op("Exp", {s.b.div(s.x(), alpha(s))});
       return {s.b.op("Where", {below, s.b.mul(s.g(), slope), s.g()})};
     }},
    {"Selu",
     [](const Step& s) -> Outlets {
       const Outlet above = s.b.less(s.b.number(0, s.b.type(s.x())), s.x());
       const Outlet slope = s.b.add(s.y(), s.b.mul(gamma(s), alpha(s)));
       return {s.b.op("Where", {above, s.b.mul(s.g(), gamma(s)), s.b.mul(s.g(), slope)})};
     }},
    {"Sigmoid",
     [](const Step& s) -> Outlets {
       return {s.b.mul(s.g(), s.b.mul(s.y(), s.b.minus_from(1, s.y())))};
     }},
    {"HardSigmoid",
     [](const Step& s) -> Outlets {
       const DType type = s.b.type(s.y());
       const Outlet inside = s.b.op(
           "And", {s.b.less(s.b.number(0, type), s.y()), s.b.less(s.y(), s.b.number(1, type))});
       return {s.b.only(inside, s.b.mul(s.g(), alpha(s)))};
     }},
    {"Softplus",
     [](const Step& s) -> Outlets { return {s.b.mul(s.g(), s.b.op("Sigmoid", {s.x()}))}; }},
    {"Softsign",
     [](const Step& s) -> Outlets {
       return {s.b.div(s.g(), s.b.square(s.b.plus(s.b.op("Abs", {s.x()}), 1)))};
     }},
    {"HardSwish",
     [](const Step& s) -> Outlets {
       const Outlet gate = s.b.op("HardSigmoid", {s.x()}, {{"alpha", 1 / 6.f}, {"beta", .5f}});
       return s.through({s.b.mul(s.x(), gate)});
     }},
    {"Swish",
     [](const Step& s) -> Outlets {
       return s.through({s.b.mul(s.x(), s.b.op("Sigmoid", {s.b.mul(s.x(), alpha(s))}))});
     }},
    {"Mish",
     [](const Step& s) -> Outlets {
       return s.through({s.b.mul(s.x(), s.b.op("Tanh", {s.b.op("Softplus", {s.x()})}))});
     }},
    {"Gelu", gelu},
    {"Cast", [](const Step& s) -> Outlets { return {s.b.cast(s.g(), s.b.type(s.x()))}; }},
    {"CastLike", [](const Step& s) -> Outlets { return {s.b.cast(s.g(), s.b.type(s.x()))}; }},
    // Linear in x with a mask that its seed fixes: what it does to ones it does to g.
    {"Dropout",
     [](const Step& s) -> Outlets {
       Outlets in = s.in;
       in[0] = s.b.ones(s.x());
       return {s.b.mul(s.g(), s.b.again(s.node, in)[0])};
     }},
};

}  // namespace

std::span<const Entry> unary_rules() { return kUnaryRules; }

}  // namespace sdx::gradient
