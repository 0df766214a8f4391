// The trigonometric and hyperbolic functions and their inverses: one line each.
#include "kernel/math/math.h"
#include "ops/elementwise/unary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kFrom1[] = {
    {1, "(input: T) -> (output: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {13, "T += bf16"},
};
constexpr Version kFrom7[] = {
    {7, "(input: T) -> (output: T) T in floats"},
    {22, "T += bf16"},
};
constexpr Version kFrom9[] = {
    {9, "(input: T) -> (output: T) T in floats"},
    {22, "T += bf16"},
};

template <class F>
struct Line {
  std::string_view name, doc;
  std::span<const Version> history;
  UnaryOp code;
  F function;  // of float and of double
  std::optional<NumberMap> numbers = std::nullopt;
};
template <class F, class... Numbers>
Line(std::string_view, std::string_view, std::span<const Version>, UnaryOp, F, Numbers...)
    -> Line<F>;

template <const auto& kLine>
struct Function {
  static constexpr std::string_view name = kLine.name, doc = kLine.doc;
  static constexpr std::span<const Version> history = kLine.history;
  static constexpr UnaryOp kCode = kLine.code;
  static constexpr std::optional<NumberMap> kNumbers = kLine.numbers;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return kLine.function(x);
  }
};

constexpr Line kSin{"Sin",
                    "The sine of radians.",
                    kFrom7,
                    UnaryOp::sin,
                    [](auto x) { return math::sin(x); },
                    NumberMap::sin};
constexpr Line kCos{"Cos",
                    "The cosine of radians.",
                    kFrom7,
                    UnaryOp::cos,
                    [](auto x) { return math::cos(x); },
                    NumberMap::cos};
constexpr Line kTan{"Tan", "The tangent of radians.", kFrom7, UnaryOp::tan,
                    [](auto x) { return math::tan(x); }};
constexpr Line kAsin{"Asin", "The inverse sine; NaN outside [-1, 1].", kFrom7, UnaryOp::asin,
                     [](auto x) { return math::asin(x); }};
constexpr Line kAcos{"Acos", "The inverse cosine; NaN outside [-1, 1].", kFrom7, UnaryOp::acos,
                     [](auto x) { return math::acos(x); }};
constexpr Line kAtan{"Atan", "The inverse tangent.", kFrom7, UnaryOp::atan,
                     [](auto x) { return math::atan(x); }};
constexpr Line kSinh{"Sinh", "The hyperbolic sine.", kFrom9, UnaryOp::sinh,
                     [](auto x) { return math::sinh(x); }};
constexpr Line kCosh{"Cosh", "The hyperbolic cosine.", kFrom9, UnaryOp::cosh,
                     [](auto x) { return math::cosh(x); }};
constexpr Line kTanh{"Tanh",
                     "The hyperbolic tangent.",
                     kFrom1,
                     UnaryOp::tanh,
                     [](auto x) { return math::tanh(x); },
                     NumberMap::tanh};
constexpr Line kAsinh{"Asinh", "The inverse hyperbolic sine.", kFrom9, UnaryOp::asinh,
                      [](auto x) { return math::asinh(x); }};
constexpr Line kAcosh{"Acosh", "The inverse hyperbolic cosine; NaN below 1.", kFrom9,
                      UnaryOp::acosh, [](auto x) { return math::acosh(x); }};
constexpr Line kAtanh{"Atanh", "The inverse hyperbolic tangent; NaN outside [-1, 1].", kFrom9,
                      UnaryOp::atanh, [](auto x) { return math::atanh(x); }};

}  // namespace

const Op acos = unary<Function<kAcos>>();
const Op acosh = unary<Function<kAcosh>>();
const Op asin = unary<Function<kAsin>>();
const Op asinh = unary<Function<kAsinh>>();
const Op atan = unary<Function<kAtan>>();
const Op atanh = unary<Function<kAtanh>>();
const Op cos = unary<Function<kCos>>();
const Op cosh = unary<Function<kCosh>>();
const Op sin = unary<Function<kSin>>();
const Op sinh = unary<Function<kSinh>>();
const Op tan = unary<Function<kTan>>();
const Op tanh = unary<Function<kTanh>>();

}  // namespace sdx::ops
