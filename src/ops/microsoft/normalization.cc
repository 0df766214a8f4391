// SkipLayerNormalization, SimplifiedLayerNormalization (here and in ai.onnx 1), GroupNorm and
// EmbedLayerNormalization.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kSimplifiedHistory[] = {
    {1,
     "(X: T, scale: V) -> (Y: V, inv_std_var?: U) {axis: int = -1, epsilon: float = 1e-05, "
     "stash_type: int = 1} T in floats bf16 U in f32 f64 V in floats bf16"}};
constexpr Version kSkipHistory[] = {
    {1,
     "(input: T, skip: T, gamma: T, beta?: T, bias?: T) -> (output: T, mean?: U, inv_std_var?: U, "
     "input_skip_bias_sum?: T) {epsilon: float = 1e-12} T in f32 f16 bf16 U in f32"}};
constexpr Version kSkipSimplifiedHistory[] = {
    {1,
     "(input: T, skip: T, gamma: T, bias?: T) -> (output: T, mean?: U, inv_std_var?: U, "
     "input_skip_bias_sum?: T) {epsilon: float = 1e-12} T in f32 f16 bf16 U in f32"}};
constexpr Version kGatedRmsHistory[] = {
    {1, "(X: T, scale: T, gate: T) -> (Y: T) {epsilon: float = 1e-05} T in f32 f16 bf16"}};
constexpr Version kGroupNormHistory[] = {
    {1,
     "(X: T, gamma: M, beta: M) -> (Y: T) {activation!: int, channels_last: int = 1, epsilon: "
     "float = 1e-05, groups!: int} T in f16 f32 M in f16 f32"}};
constexpr Version kSkipGroupNormHistory[] = {
    {1,
     "(X: T, gamma: M, beta: M, skip: T, bias?: T) -> (Y: T, S?: T) {activation!: int, "
     "channels_last: int = 1, epsilon: float = 1e-05, groups!: int} T in f16 f32 M in f16 f32"}};

// inv = 1 / sqrt(mean of x * x + epsilon) over the axes from `axis` on, in float or double.
Wire inverse_rms(Composer& c, Wire x, int64_t axis, float epsilon) {
  const DType wide = c.fact(x).type == DType::f64 ? DType::f64 : DType::f32;
  const Wire v = c.cast(x, wide);
  const Result<size_t> first = resolve_axis(axis, c.fact(x).rank());
  if (!first) {
    c.require(false, "SDX-T0111", "{}", first.error().what);
    return x;
  }
  std::vector<int64_t> axes;
  for (size_t i = *first; i < c.fact(x).rank(); ++i) axes.push_back(int64_t(i));
  const Wire mean = c.add(reduce_mean, {c.add(mul, {v, v}), c.ints(axes)});
  return c.add(reciprocal, {c.add(sqrt, {c.add(add, {mean, c.number(wide, double(epsilon))})})});
}

Result<Wires> compose_simplified(Composer& c) {
  const AttrMap attrs{{"axis", c.node().i("axis")}, {"epsilon", c.node().f("epsilon")}};
  const Wire y = c.add(rms_normalization, {c.in(0), c.in(1)}, attrs);
  if (c.failed() || !c.wants(1)) return Wires{y, Wire{}};
  return Wires{y, inverse_rms(c, c.in(0), c.node().i("axis"), c.node().f("epsilon"))};
}

// (input + skip) + bias
Wire skip_sum(Composer& c, Wire bias) {
  const Fact &x = c.fact(c.in(0)), &skip = c.fact(c.in(1));
  c.require(x.rank() == 2 || x.rank() == 3, "SDX-T1056",
            "the input is {}; it must have 2 or 3 dimensions", x.text());
  c.require(skip.rank() <= x.rank(), "SDX-T1056", "skip is {}, the input {}", skip.text(),
            x.text());
  const Wire sum = c.add(add, {c.in(0), c.in(1)});
  return bias.present() ? c.add(add, {sum, bias}) : sum;
}

void require_no_statistics(Composer& c) {
  c.require(!c.wants(1) && !c.wants(2), "SDX-T1057",
            "mean and inv_std_var are outputs of training alone");
}

Result<Wires> compose_skip(Composer& c) {
  require_no_statistics(c);
  const Wire sum = skip_sum(c, c.in(4));
  const Wire y =
      c.add(layer_normalization, {sum, c.in(2), c.in(3)}, {{"epsilon", c.node().f("epsilon")}});
  return Wires{y, Wire{}, Wire{}, sum};
}

Result<Wires> compose_skip_simplified(Composer& c) {
  require_no_statistics(c);
  const Wire sum = skip_sum(c, c.in(3));
  const Wire y = c.add(rms_normalization, {sum, c.in(2)}, {{"epsilon", c.node().f("epsilon")}});
  return Wires{y, Wire{}, Wire{}, sum};
}

// RMSNormalization(x, scale) * (gate * sigmoid(gate))
Result<Wires> compose_gated_rms(Composer& c) {
  const Wire y = c.add(rms_normalization, {c.in(0), c.in(1)}, {{"epsilon", c.node().f("epsilon")}});
  return Wires{c.add(mul, {y, c.add(swish, {c.in(2)})})};
}

// GroupNormalization in float, then x * sigmoid(x) if activation is 1; channels last unless told.
Wire group_norm(Composer& c, Wire x) {
  const DType type = c.fact(x).type;
  const size_t rank = c.fact(x).rank();
  const int64_t activation = c.node().i("activation");
  c.require(rank >= 3, "SDX-T1056", "the input is {}; it must have 3 dimensions or more",
            c.fact(x).text());
  c.require(activation == 0 || activation == 1, "SDX-T1058", "activation {} is not 0 or 1",
            activation);
  if (c.failed()) return x;
  std::vector<int64_t> first{0, int64_t(rank) - 1}, last{0};
  for (size_t i = 1; i + 1 < rank; ++i) first.push_back(int64_t(i));
  for (size_t i = 2; i < rank; ++i) last.push_back(int64_t(i));
  last.push_back(1);
  const bool turn = c.node().i("channels_last") != 0;
  Wire y = c.cast(x, DType::f32);
  if (turn) y = c.transpose(y, first);
  y = c.add(group_normalization, {y, c.cast(c.in(1), DType::f32), c.cast(c.in(2), DType::f32)},
            {{"num_groups", c.node().i("groups")}, {"epsilon", c.node().f("epsilon")}});
  if (turn) y = c.transpose(y, last);
  if (activation == 1) y = c.add(swish, {y});
  return c.cast(y, type);
}

Result<Wires> compose_group_norm(Composer& c) { return Wires{group_norm(c, c.in(0))}; }

// skip may be [N, C] or [N, 1, 1, C]; the sum is x + skip + bias along the channels.
Result<Wires> compose_skip_group_norm(Composer& c) {
  const Fact& x = c.fact(c.in(0));
  Wire skip = c.in(3);
  if (c.fact(skip).rank() == 2 && x.rank() == 4) {
    skip = c.add(unsqueeze, {skip, c.ints({1, 2})});
  }
  const bool last = c.node().i("channels_last") != 0;
  Wire sum = c.add(add, {c.in(0), skip});
  if (c.has(4)) {
    const Wire bias = last ? c.in(4) : c.add(unsqueeze, {c.in(4), c.ints({1, 2})});
    sum = c.add(add, {sum, bias});
  }
  if (c.failed()) return Wires{};
  return Wires{group_norm(c, sum), sum};
}

std::vector<Case> cases_simplified() {
  return {
      {.name = "divides_by_the_root_mean_square",
       .opset = 1,
       .attrs = {{"epsilon", 0.f}},
       .inputs = {Tensor::of<float>({1, 2}, {4, 4}), Tensor::of<float>({2}, {1, 3})},
       .expected = {Tensor::of<float>({1, 2}, {1, 3}), Tensor::of<float>({1, 1}, {.25f})},
       .outputs = 2},
      {.name = "long_rows", .opset = 1, .attrs = {}, .inputs = {noise({3, 4, 77}), noise({77}, 2)}},
      {.name = "halves",
       .opset = 1,
       .attrs = {},
       .inputs = {noise(DType::f16, {3, 40}), noise(DType::f16, {40}, 2)}}};
}
std::vector<Case> cases_skip() {
  return {{.name = "normalises_the_sum",
           .opset = 1,
           .attrs = {{"epsilon", 0.f}},
           .inputs = {Tensor::of<float>({1, 1, 2}, {1, 3}), Tensor::of<float>({1, 1, 2}, {-1, -1}),
                      Tensor::of<float>({2}, {2, 2}), Tensor::of<float>({2}, {0, 10}),
                      Tensor::of<float>({2}, {1, 1})},
           .expected = {Tensor::of<float>({1, 1, 2}, {-2, 12})}},
          {.name = "a_skip_for_all_of_a_batch",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({3, 4, 77}), noise({4, 77}, 2), noise({77}, 3)}}};
}
std::vector<Case> cases_skip_simplified() {
  return {{.name = "normalises_the_sum",
           .opset = 1,
           .attrs = {{"epsilon", 0.f}},
           .inputs = {Tensor::of<float>({1, 2}, {1, 3}), Tensor::of<float>({1, 2}, {1, -1}),
                      Tensor::of<float>({2}, {2, 5})},
           .expected = {Tensor::of<float>({1, 2}, {2, 5})}},
          {.name = "with_a_bias",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({3, 4, 77}), noise({3, 4, 77}, 2), noise({77}, 3), noise({77}, 4)}}};
}
std::vector<Case> cases_gated_rms() {
  return {{.name = "a_closed_gate_gives_nothing",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({2, 8}), noise({8}, 2), Tensor::make(DType::f32, {2, 8})},
           .expected = {}}};
}
std::vector<Case> cases_group_norm() {
  const AttrMap attrs{{"activation", int64_t{0}}, {"groups", int64_t{2}}, {"epsilon", 0.f}};
  return {{.name = "channels_last",
           .opset = 1,
           .attrs = attrs,
           .inputs = {Tensor::of<float>({1, 1, 2, 2}, {1, 5, 3, 9}), Tensor::of<float>({2}, {1, 2}),
                      Tensor::of<float>({2}, {0, 10})},
           .expected = {Tensor::of<float>({1, 1, 2, 2}, {-1, 8, 1, 12})}},
          {.name = "halves_with_an_activation",
           .opset = 1,
           .attrs = {{"activation", int64_t{1}}, {"groups", int64_t{4}}},
           .inputs = {noise(DType::f16, {2, 3, 3, 16}), noise({16}, 2), noise({16}, 3)}}};
}
std::vector<Case> cases_skip_group_norm() {
  return {{.name = "gives_the_sum_too",
           .opset = 1,
           .attrs = {{"activation", int64_t{1}}, {"groups", int64_t{2}}},
           .inputs = {noise({2, 3, 3, 8}), noise({8}, 2), noise({8}, 3), noise({2, 8}, 4),
                      noise({8}, 5)},
           .outputs = 2}};
}

constexpr std::string_view kSimplifiedDoc =
    "Rows divided by the root of their mean square, then times scale.";
constexpr OpOf<Composition> kSimplified = composed<compose_simplified>(
    kDomain, "SimplifiedLayerNormalization", kSimplifiedDoc, kSimplifiedHistory, cases_simplified);
constexpr OpOf<Composition> kSimplifiedOfOnnx = composed<compose_simplified>(
    "", "SimplifiedLayerNormalization", kSimplifiedDoc, kSimplifiedHistory, cases_simplified);
constexpr OpOf<Composition> kSkip =
    composed<compose_skip>(kDomain, "SkipLayerNormalization",
                           "LayerNormalization of input + skip + bias.", kSkipHistory, cases_skip);
constexpr OpOf<Composition> kSkipSimplified = composed<compose_skip_simplified>(
    kDomain, "SkipSimplifiedLayerNormalization",
    "Rows of input + skip + bias divided by the root of their mean square, then times gamma.",
    kSkipSimplifiedHistory, cases_skip_simplified);
constexpr OpOf<Composition> kGatedRms = composed<compose_gated_rms>(
    kDomain, "GatedRMSNorm", "RMSNormalization of X times Swish of gate.", kGatedRmsHistory,
    cases_gated_rms);
constexpr OpOf<Composition> kGroupNorm = composed<compose_group_norm>(
    kDomain, "GroupNorm", "GroupNormalization of channels that may lie last, and Swish if told.",
    kGroupNormHistory, cases_group_norm);
constexpr OpOf<Composition> kSkipGroupNorm =
    composed<compose_skip_group_norm>(kDomain, "SkipGroupNorm", "GroupNorm of X + skip + bias.",
                                      kSkipGroupNormHistory, cases_skip_group_norm);

}  // namespace

extern const Op simplified_layer_normalization = erase<kSimplified>();
extern const Op simplified_layer_normalization_of_onnx = erase<kSimplifiedOfOnnx>();
extern const Op skip_layer_normalization = erase<kSkip>();
extern const Op skip_simplified_layer_normalization = erase<kSkipSimplified>();
extern const Op gated_rms_norm = erase<kGatedRms>();
extern const Op group_norm_of_channels = erase<kGroupNorm>();
extern const Op skip_group_norm = erase<kSkipGroupNorm>();

}  // namespace sdx::ops::microsoft
