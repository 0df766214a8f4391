// Operators that carry a state from call to call, which ai.onnx has too.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops {
extern const Op linear_attention, causal_conv_with_state;
}

namespace sdx::ops::microsoft {
namespace {

constexpr Version kLinearHistory[] = {
    {1,
     "(query: T, key: T, value: T, past_state?: S, decay?: T, beta?: T) -> (output: T, "
     "present_state: S) {chunk_size: int = 64, kv_num_heads!: int, q_num_heads!: int, scale: float "
     "= 0, state_window: int = 0, update_rule: string = \"gated_delta\"} T in f32 f16 bf16 S in "
     "f32 f16 bf16"}};
constexpr Version kConvHistory[] = {
    {1,
     "(input: T, weight: T, bias?: T, past_state?: T) -> (output: T, present_state: T) "
     "{activation: string = \"none\", ndim: int = 1, state_window: int = 0} T in f32 f16 bf16"}};
constexpr Version kGateHistory[] = {
    {1,
     "(a: T, dt_bias: TF, decay_scale: TF, b?: T) -> (decay: T, beta?: T) T in f32 f16 bf16 TF in "
     "f32"}};

void refuse_window(Composer& c) {
  c.require(c.node().i("state_window") == 0, "SDX-T1072",
            "state_window: states of several tokens do not run here");
}

Result<Wires> compose_linear(Composer& c) {
  refuse_window(c);
  return c.add(linear_attention, {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), c.in(5)},
               {{"chunk_size", c.node().i("chunk_size")},
                {"kv_num_heads", c.node().i("kv_num_heads")},
                {"q_num_heads", c.node().i("q_num_heads")},
                {"scale", c.node().f("scale")},
                {"update_rule", c.node().s("update_rule")}},
               2);
}

Result<Wires> compose_conv(Composer& c) {
  refuse_window(c);
  c.require(c.node().i("ndim") == 1, "SDX-T1072", "ndim {}: one axis of time runs here",
            c.node().i("ndim"));
  return c.add(causal_conv_with_state, {c.in(0), c.in(1), c.in(2), c.in(3)},
               {{"activation", c.node().s("activation")}}, 2);
}

// decay = decay_scale * softplus(a + dt_bias); beta = sigmoid(b); in float, rounded once.
Result<Wires> compose_gate(Composer& c) {
  const DType type = c.fact(c.in(0)).type;
  const Wire sum = c.add(add, {c.cast(c.in(0), DType::f32), c.in(1)});
  const Wire decay = c.cast(c.add(mul, {c.add(softplus, {sum}), c.in(2)}), type);
  if (!c.wants(1)) return Wires{decay, Wire{}};
  c.require(c.has(3), "SDX-T1071", "the output beta needs the input b");
  return Wires{decay, c.has(3) ? c.add(sigmoid, {c.in(3)}) : Wire{}};
}

std::vector<Case> cases_linear() {
  return {
      {.name = "a_sum_of_products",
       .opset = 1,
       .attrs = {{"q_num_heads", int64_t{1}},
                 {"kv_num_heads", int64_t{1}},
                 {"scale", 1.f},
                 {"update_rule", std::string("linear")}},
       .inputs = {Tensor::of<float>({1, 2, 1}, {1, 2}), Tensor::of<float>({1, 2, 1}, {1, 1}),
                  Tensor::of<float>({1, 2, 1}, {3, 4})},
       .expected = {Tensor::of<float>({1, 2, 1}, {3, 14}), Tensor::of<float>({1, 1, 1, 1}, {7})},
       .outputs = 2}};
}
std::vector<Case> cases_conv() {
  return {
      {.name = "the_state_is_the_end_of_the_input",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<float>({1, 1, 3}, {1, 2, 3}), Tensor::of<float>({1, 1, 2}, {10, 1})},
       .expected = {Tensor::of<float>({1, 1, 3}, {1, 12, 23}), Tensor::of<float>({1, 1, 1}, {3})},
       .outputs = 2}};
}
std::vector<Case> cases_gate() {
  return {{.name = "a_far_input_decays_by_its_size",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 1, 2}, {60, 70}), Tensor::of<float>({2}, {0, 10}),
                      Tensor::of<float>({2}, {-1, -2}), Tensor::make(DType::f32, {1, 1, 2})},
           .expected = {Tensor::of<float>({1, 1, 2}, {-60, -160}),
                        Tensor::of<float>({1, 1, 2}, {.5f, .5f})},
           .outputs = 2}};
}

constexpr OpOf<Composition> kLinear = composed<compose_linear>(
    kDomain, "LinearAttention", "Attention whose state has one size, token by token.",
    kLinearHistory, cases_linear);
constexpr OpOf<Composition> kCausalConv = composed<compose_conv>(
    kDomain, "CausalConvWithState", "A convolution along time of each channel, with its past.",
    kConvHistory, cases_conv);
constexpr OpOf<Composition> kGate = composed<compose_gate>(
    kDomain, "LinearAttentionGate", "decay_scale * softplus(a + dt_bias), and sigmoid(b).",
    kGateHistory, cases_gate);

}  // namespace

extern const Op ms_linear_attention = erase<kLinear>();
extern const Op ms_causal_conv_with_state = erase<kCausalConv>();
extern const Op linear_attention_gate = erase<kGate>();

}  // namespace sdx::ops::microsoft
