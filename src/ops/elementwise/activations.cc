// Activation functions of one input.
#include "kernel/math/math.h"
#include "ops/elementwise/unary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kReluHistory[] = {
    {1, "(X: T) -> (Y: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {13, "T += bf16"},
    {14, "T += ints"},
};
constexpr Version kLeakyReluHistory[] = {
    {1, "(X: T) -> (Y: T) {alpha: float = 0.01, consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {16, "T += bf16"},
};
constexpr Version kEluHistory[] = {
    {1, "(X: T) -> (Y: T) {alpha: float = 1, consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {22, "T += bf16"},
};
constexpr Version kSeluHistory[] = {
    {1,
     "(X: T) -> (Y: T) {alpha: float = 1.6732, consumed_inputs: ints, gamma: float = 1.0507} T in "
     "floats"},
    {6, "{alpha: float = 1.6732632, gamma: float = 1.050701, -consumed_inputs}"},
    {22, "T += bf16"},
};
constexpr Version kCeluHistory[] = {
    {12, "(X: T) -> (Y: T) {alpha: float = 1} T in f32"},
    {28, "T += bf16 f16 f64"},
};
constexpr Version kSigmoidHistory[] = {
    {1, "(X: T) -> (Y: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {13, "T += bf16"},
};
constexpr Version kHardSigmoidHistory[] = {
    {1,
     "(X: T) -> (Y: T) {alpha: float = 0.2, beta: float = 0.5, consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {22, "T += bf16"},
};
constexpr Version kHardSwishHistory[] = {
    {14, "(X: T) -> (Y: T) T in floats"},
    {22, "T += bf16"},
};
constexpr Version kSoftplusHistory[] = {
    {1, "(X: T) -> (Y: T) T in floats"},
    {22, "T += bf16"},
};
constexpr Version kSoftsignHistory[] = {
    {1, "(input: T) -> (output: T) T in floats"},
    {22, "T += bf16"},
};
constexpr Version kGeluHistory[] = {
    {20, "(X: T) -> (Y: T) {approximate: string = \"none\"} T in floats bf16"},
};
constexpr Version kSwishHistory[] = {
    {24, "(X: T) -> (Y: T) {alpha: float = 1} T in floats bf16"},
};
constexpr Version kMishHistory[] = {
    {18, "(X: T) -> (Y: T) T in floats"},
    {22, "T += bf16"},
};
constexpr Version kThresholdedReluHistory[] = {
    {1, "(X: T) -> (Y: T) {alpha: float = 1} T in floats experimental"},
    {10, ""},
    {22, "T += bf16"},
};
constexpr Version kShrinkHistory[] = {
    {9, "(input: T) -> (output: T) {bias: float = 0, lambd: float = 0.5} T in num"},
};

// Members with an attribute alpha.
struct WithAlpha {
  static Status read(const Node& node, Unary& a) {
    a.p = node.f("alpha");
    return ok();
  }
};

struct Relu {
  static constexpr std::string_view name = "Relu", doc = "max(x, 0).";
  static constexpr std::span<const Version> history = kReluHistory;
  static constexpr UnaryOp kCode = UnaryOp::relu;
  static constexpr NumberMap kNumbers = NumberMap::relu;
  template <Number C>
  static C apply(C x, const Unary&) {
    return max_of(x, C(0));
  }
  static std::vector<Case> cases() {
    return {{.name = "minus_zero_becomes_plus_zero",
             .opset = 14,
             .attrs = {},
             .inputs = {Tensor::of<float>({4}, {-0.f, -1, 2, INFINITY})},
             .expected = {Tensor::of<float>({4}, {0, 0, 2, INFINITY})}},
            {.name = "integers",
             .opset = 14,
             .attrs = {},
             .inputs = {Tensor::of<int16_t>({2}, {-3, 3})},
             .expected = {Tensor::of<int16_t>({2}, {0, 3})}}};
  }
};
struct LeakyRelu : WithAlpha {
  static constexpr std::string_view name = "LeakyRelu", doc = "x, or alpha x below zero.";
  static constexpr std::span<const Version> history = kLeakyReluHistory;
  static constexpr UnaryOp kCode = UnaryOp::leaky_relu;
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return x < 0 ? C(a.p) * x : x;
  }
};
struct Elu : WithAlpha {
  static constexpr std::string_view name = "Elu", doc = "x, or alpha (e^x - 1) below zero.";
  static constexpr std::span<const Version> history = kEluHistory;
  static constexpr UnaryOp kCode = UnaryOp::elu;
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return x < 0 ? C(a.p) * math::expm1(x) : x;
  }
};
struct Selu {
  static constexpr std::string_view name = "Selu",
                                    doc = "gamma x, or gamma alpha (e^x - 1) up to zero.";
  static constexpr std::span<const Version> history = kSeluHistory;
  static constexpr UnaryOp kCode = UnaryOp::selu;
  static Status read(const Node& node, Unary& a) {
    a.p = node.f("alpha");
    a.q = node.f("gamma");
    return ok();
  }
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return C(a.q) * (x > 0 ? x : C(a.p) * math::expm1(x));
  }
};
struct Celu : WithAlpha {
  static constexpr std::string_view name = "Celu",
                                    doc = "max(x, 0) + min(alpha (e^(x / alpha) - 1), 0).";
  static constexpr std::span<const Version> history = kCeluHistory;
  static constexpr UnaryOp kCode = UnaryOp::celu;
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return max_of(x, C(0)) + min_of(C(a.p) * math::expm1(x / C(a.p)), C(0));
  }
};
struct Sigmoid {
  static constexpr std::string_view name = "Sigmoid", doc = "1 / (1 + e^-x).";
  static constexpr std::span<const Version> history = kSigmoidHistory;
  static constexpr UnaryOp kCode = UnaryOp::sigmoid;
  static constexpr NumberMap kNumbers = NumberMap::sigmoid;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return math::sigmoid(x);
  }
};
struct HardSigmoid {
  static constexpr std::string_view name = "HardSigmoid",
                                    doc = "alpha x + beta, kept within [0, 1].";
  static constexpr std::span<const Version> history = kHardSigmoidHistory;
  static constexpr UnaryOp kCode = UnaryOp::hard_sigmoid;
  static Status read(const Node& node, Unary& a) {
    a.p = node.f("alpha");
    a.q = node.f("beta");
    return ok();
  }
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return max_of(min_of(C(a.p) * x + C(a.q), C(1)), C(0));
  }
};
struct HardSwish {
  static constexpr std::string_view name = "HardSwish",
                                    doc = "x times x / 6 + 1/2 kept within [0, 1].";
  static constexpr std::span<const Version> history = kHardSwishHistory;
  static constexpr UnaryOp kCode = UnaryOp::hard_swish;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return x * max_of(min_of(C(1.0 / 6) * x + C(0.5), C(1)), C(0));
  }
};
struct Softplus {
  static constexpr std::string_view name = "Softplus", doc = "log(1 + e^x).";
  static constexpr std::span<const Version> history = kSoftplusHistory;
  static constexpr UnaryOp kCode = UnaryOp::softplus;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return math::softplus(x);
  }
};
struct Softsign {
  static constexpr std::string_view name = "Softsign", doc = "x / (1 + |x|).";
  static constexpr std::span<const Version> history = kSoftsignHistory;
  static constexpr UnaryOp kCode = UnaryOp::softsign;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return x / (C(1) + std::fabs(x));
  }
};
struct Gelu {
  static constexpr std::string_view name = "Gelu";
  static constexpr std::string_view doc =
      "x times the normal distribution's share below x, or its approximation by tanh.";
  static constexpr std::span<const Version> history = kGeluHistory;
  static UnaryOp code(const Unary& a) { return a.flag ? UnaryOp::gelu_tanh : UnaryOp::gelu; }
  static AttrMap sample_attrs() { return {{"approximate", std::string("tanh")}}; }
  static Status read(const Node& node, Unary& a) {
    const std::string& approximate = node.s("approximate");
    if (approximate != "none" && approximate != "tanh") {
      return fail("SDX-T0203", "approximate is \"{}\", neither none nor tanh", approximate);
    }
    a.flag = approximate == "tanh";
    return ok();
  }
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return a.flag ? math::gelu_tanh(x) : math::gelu(x);
  }
};
struct Swish : WithAlpha {
  static constexpr std::string_view name = "Swish", doc = "x sigmoid(alpha x).";
  static constexpr std::span<const Version> history = kSwishHistory;
  static constexpr UnaryOp kCode = UnaryOp::swish;
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return x * math::sigmoid(C(a.p) * x);
  }
};
struct Mish {
  static constexpr std::string_view name = "Mish", doc = "x tanh(softplus(x)).";
  static constexpr std::span<const Version> history = kMishHistory;
  static constexpr UnaryOp kCode = UnaryOp::mish;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return math::mish(x);
  }
};
struct ThresholdedRelu : WithAlpha {
  static constexpr std::string_view name = "ThresholdedRelu",
                                    doc = "x if it is greater than alpha, else 0.";
  static constexpr std::span<const Version> history = kThresholdedReluHistory;
  static constexpr UnaryOp kCode = UnaryOp::thresholded_relu;
  template <std::floating_point C>
  static C apply(C x, const Unary& a) {
    return x > C(a.p) ? x : C(0);
  }
};
struct Shrink {
  static constexpr std::string_view name = "Shrink";
  static constexpr std::string_view doc =
      "x + bias below -lambd, x - bias above lambd, 0 between. Integers truncate.";
  static constexpr std::span<const Version> history = kShrinkHistory;
  static Status read(const Node& node, Unary& a) {
    a.p = node.f("bias");
    a.q = node.f("lambd");
    return ok();
  }
  template <Number C>
  static C apply(C x, const Unary& a) {
    if constexpr (std::integral<C>) {
      return to_integer<C>(apply(double(x), a));
    } else {
      return x < -C(a.q) ? x + C(a.p) : x > C(a.q) ? x - C(a.p) : C(0);
    }
  }
  static std::vector<Case> cases() {
    return {{.name = "integers_truncate",
             .opset = 9,
             .attrs = {{"lambd", 1.5f}, {"bias", 1.5f}},
             .inputs = {Tensor::of<int8_t>({5}, {-2, -1, 0, 2, 5})},
             .expected = {Tensor::of<int8_t>({5}, {0, 0, 0, 0, 3})}}};
  }
};

}  // namespace

const Op celu = unary<Celu>();
const Op elu = unary<Elu>();
const Op gelu = unary<Gelu>();
const Op hard_sigmoid = unary<HardSigmoid>();
const Op hard_swish = unary<HardSwish>();
const Op leaky_relu = unary<LeakyRelu>();
const Op mish = unary<Mish>();
const Op relu = unary<Relu>();
const Op selu = unary<Selu>();
const Op shrink = unary<Shrink>();
const Op sigmoid = unary<Sigmoid>();
const Op softplus = unary<Softplus>();
const Op softsign = unary<Softsign>();
const Op swish = unary<Swish>();
const Op thresholded_relu = unary<ThresholdedRelu>();

}  // namespace sdx::ops
