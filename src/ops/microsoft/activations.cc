// Gelu and its kin, and sums of a tensor with a bias along the last axis.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kGeluHistory[] = {{1, "(X: T) -> (Y: T) T in floats bf16"}};
constexpr Version kQuickGeluHistory[] = {
    {1, "(X: T) -> (Y: T) {alpha: float = 1.702} T in floats bf16"}};
constexpr Version kFastGeluHistory[] = {{1, "(X: T, bias?: T) -> (Y: T) T in floats bf16"}};
constexpr Version kBiasGeluHistory[] = {{1, "(A: T, B: T) -> (C: T) T in floats bf16"}};
constexpr Version kBiasSplitGeluHistory[] = {{1, "(X: T, bias: T) -> (Y: T) T in f16 f32"}};
constexpr Version kBiasAddHistory[] = {{1, "(X: T, bias: T, skip: T) -> (Y: T) T in f16 f32"}};
constexpr Version kBiasSoftmaxHistory[] = {
    {1, "(data: T, bias: T) -> (output: T) {axis: int = 1, is_inner_broadcast!: int} T in floats"}};
constexpr Version kBiasDropoutHistory[] = {
    {1,
     "(data: T, bias: T, residual?: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T2) "
     "{seed: int} T in floats bf16 T1 in floats bf16 T2 in bool"}};
constexpr Version kGatedAddHistory[] = {
    {1, "(X: T, Y: T, gate: T) -> (output: T) T in f32 f16 bf16"}};

// A vector with one element per element of x's last axis.
void require_bias(Composer& c, Wire x, Wire bias) {
  const Fact &data = c.fact(x), &b = c.fact(bias);
  if (!bias.present()) return;
  const bool fits =
      data.rank() > 0 && b.rank() == 1 &&
      (!b.dim(0).is_const() || !data.shape->back().is_const() || b.dim(0) == data.shape->back());
  c.require(fits, "SDX-T1054", "the bias is {}; it must be a vector along the last axis of {}",
            b.text(), data.text());
}

AttrMap by_tanh() { return {{"approximate", std::string("tanh")}}; }

Result<Wires> compose_gelu(Composer& c) { return Wires{c.add(gelu, {c.in(0)})}; }

// x * sigmoid(alpha * x)
Result<Wires> compose_quick_gelu(Composer& c) {
  return Wires{c.add(swish, {c.in(0)}, {{"alpha", c.node().f("alpha")}})};
}

Result<Wires> compose_fast_gelu(Composer& c) {
  require_bias(c, c.in(0), c.in(1));
  const Wire x = c.has(1) ? c.add(add, {c.in(0), c.in(1)}) : c.in(0);
  return Wires{c.add(gelu, {x}, by_tanh())};
}

Result<Wires> compose_bias_gelu(Composer& c) {
  require_bias(c, c.in(0), c.in(1));
  return Wires{c.add(gelu, {c.add(add, {c.in(0), c.in(1)})})};
}

// With x + bias as [left, right] along the last axis: left * Gelu(right).
Result<Wires> compose_bias_split_gelu(Composer& c) {
  require_bias(c, c.in(0), c.in(1));
  const Wire sum = c.add(add, {c.in(0), c.in(1)});
  const Wires half = c.add(split, {sum}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}, 2);
  return Wires{c.add(mul, {half[0], c.add(gelu, {half[1]})})};
}

Result<Wires> compose_bias_add(Composer& c) {
  require_bias(c, c.in(0), c.in(1));
  return Wires{c.add(add, {c.add(add, {c.in(0), c.in(1)}), c.in(2)})};
}

// The softmax over the axes from `axis` on, taken together, of data + bias. The bias has the
// leading axes of the data once (is_inner_broadcast = 0) or repeats along those before `axis`.
Result<Wires> compose_bias_softmax(Composer& c) {
  const Wire sum = c.add(add, {c.in(0), c.in(1)});
  const Fact& fact = c.fact(sum);
  if (c.failed()) return Wires{};
  SDX_ASSIGN(const size_t axis, resolve_axis(c.node().i("axis"), fact.rank()));
  if (axis + 1 == fact.rank()) return Wires{c.add(softmax, {sum})};
  // Rows of what follows the axis, and back to the shape of the data.
  std::vector<int64_t> rows(axis, 0);
  rows.push_back(-1);
  const Wire flat = c.add(softmax, {c.reshape(sum, rows)});
  return Wires{c.add(reshape, {flat, c.add(shape, {sum})})};
}

// Dropout keeps every element unless it trains, and training belongs to no inference engine.
Result<Wires> compose_bias_dropout(Composer& c) {
  if (c.has(4)) {
    const Fact& training = c.fact(c.in(4));
    const bool off =
        training.value != nullptr && training.value->count() == 1 && !*training.value->data<bool>();
    c.require(off, "SDX-T1055", "training_mode must be false and known before the run");
  }
  c.require(!c.wants(1), "SDX-T1055", "the mask is an output of training alone");
  const Wire sum = c.add(add, {c.in(0), c.in(1)});
  return Wires{c.has(2) ? c.add(add, {sum, c.in(2)}) : sum, Wire{}};
}

// x + y * gate
Result<Wires> compose_gated_add(Composer& c) {
  return Wires{c.add(add, {c.in(0), c.add(mul, {c.in(1), c.in(2)})})};
}

std::vector<Case> cases_gelu() {
  return {{.name = "of_zero_and_far_away",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({3}, {0, 20, -20})},
           .expected = {Tensor::of<float>({3}, {0, 20, 0})},
           .rtol = 1e-6},
          {.name = "halves", .opset = 1, .attrs = {}, .inputs = {noise(DType::f16, {3, 40})}}};
}
std::vector<Case> cases_quick_gelu() {
  return {{.name = "alpha_decides_the_slope",
           .opset = 1,
           .attrs = {{"alpha", 0.f}},
           .inputs = {Tensor::of<float>({2}, {2, -4})},
           .expected = {Tensor::of<float>({2}, {1, -2})}},
          {.name = "long_rows", .opset = 1, .attrs = {}, .inputs = {noise({2, 77})}}};
}
std::vector<Case> cases_fast_gelu() {
  return {{.name = "adds_the_bias_first",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {1, -30}), Tensor::of<float>({2}, {-1, 50})},
           .expected = {Tensor::of<float>({1, 2}, {0, 20})}},
          {.name = "without_a_bias", .opset = 1, .attrs = {}, .inputs = {noise({3, 50})}}};
}
std::vector<Case> cases_bias_gelu() {
  return {{.name = "adds_the_bias_first",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {1, -30}), Tensor::of<float>({2}, {-1, 50})},
           .expected = {Tensor::of<float>({1, 2}, {0, 20})}},
          {.name = "long_rows",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({2, 5, 77}), noise({77}, 2)}}};
}
std::vector<Case> cases_bias_split_gelu() {
  return {{.name = "the_right_half_gates_the_left",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 1, 4}, {2, 3, 20, -20}),
                      Tensor::of<float>({4}, {1, 1, 0, 0})},
           .expected = {Tensor::of<float>({1, 1, 2}, {60, 0})},
           .rtol = 1e-6},
          {.name = "long_rows",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({2, 3, 96}), noise({96}, 2)}}};
}
std::vector<Case> cases_bias_add() {
  return {{.name = "sums_three",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2}, {10, 20}),
                      Tensor::of<float>({1, 2, 2}, {100, 100, 200, 200})},
           .expected = {Tensor::of<float>({1, 2, 2}, {111, 122, 213, 224})}}};
}
std::vector<Case> cases_bias_softmax() {
  const AttrMap attrs{{"axis", int64_t{1}}, {"is_inner_broadcast", int64_t{0}}};
  return {{.name = "over_two_axes",
           .opset = 1,
           .attrs = attrs,
           .inputs = {Tensor::of<float>({1, 2, 2}, {0, 1, 2, 3}),
                      Tensor::of<float>({1, 2, 2}, {3, 2, 1, 0})},
           .expected = {Tensor::of<float>({1, 2, 2}, {.25f, .25f, .25f, .25f})}}};
}
std::vector<Case> cases_bias_dropout() {
  return {{.name = "keeps_every_element",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2}, {10, 20}),
                      Tensor::of<float>({2, 2}, {1, 1, 1, 1})},
           .expected = {Tensor::of<float>({2, 2}, {12, 23, 14, 25})}}};
}
std::vector<Case> cases_gated_add() {
  return {{.name = "the_gate_scales_one_side",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({1, 2}, {10, 10}),
                      Tensor::of<float>({1, 2}, {2, .5f})},
           .expected = {Tensor::of<float>({1, 2}, {21, 7})}}};
}

constexpr OpOf<Composition> kGelu = composed<compose_gelu>(
    kDomain, "Gelu", "x times the normal distribution function of x.", kGeluHistory, cases_gelu);
constexpr OpOf<Composition> kQuickGelu = composed<compose_quick_gelu>(
    kDomain, "QuickGelu", "x sigmoid(alpha x).", kQuickGeluHistory, cases_quick_gelu);
constexpr OpOf<Composition> kFastGelu =
    composed<compose_fast_gelu>(kDomain, "FastGelu", "Gelu of X + bias, approximated by tanh.",
                                kFastGeluHistory, cases_fast_gelu);
constexpr OpOf<Composition> kBiasGelu = composed<compose_bias_gelu>(
    kDomain, "BiasGelu", "Gelu of A + B.", kBiasGeluHistory, cases_bias_gelu);
constexpr OpOf<Composition> kBiasSplitGelu = composed<compose_bias_split_gelu>(
    kDomain, "BiasSplitGelu", "The left half of X + bias times Gelu of the right half.",
    kBiasSplitGeluHistory, cases_bias_split_gelu);
constexpr OpOf<Composition> kBiasAdd = composed<compose_bias_add>(
    kDomain, "BiasAdd", "X + bias + skip.", kBiasAddHistory, cases_bias_add);
constexpr OpOf<Composition> kBiasSoftmax = composed<compose_bias_softmax>(
    kDomain, "BiasSoftmax", "Softmax of data + bias over the axes from `axis` on.",
    kBiasSoftmaxHistory, cases_bias_softmax);
constexpr OpOf<Composition> kBiasDropout =
    composed<compose_bias_dropout>(kDomain, "BiasDropout", "data + bias + residual: at inference.",
                                   kBiasDropoutHistory, cases_bias_dropout);
constexpr OpOf<Composition> kGatedAdd = composed<compose_gated_add>(
    kDomain, "GatedAdd", "X + Y * gate.", kGatedAddHistory, cases_gated_add);

}  // namespace

extern const Op ms_gelu = erase<kGelu>();
extern const Op quick_gelu = erase<kQuickGelu>();
extern const Op fast_gelu = erase<kFastGelu>();
extern const Op bias_gelu = erase<kBiasGelu>();
extern const Op bias_split_gelu = erase<kBiasSplitGelu>();
extern const Op bias_add = erase<kBiasAdd>();
extern const Op bias_softmax = erase<kBiasSoftmax>();
extern const Op bias_dropout = erase<kBiasDropout>();
extern const Op gated_add = erase<kGatedAdd>();

}  // namespace sdx::ops::microsoft
