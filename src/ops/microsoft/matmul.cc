// Products of matrices with what an optimiser has fused into them: FusedMatMul, FusedGemm and their
// kin.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kFusedMatMulHistory[] = {
    {1,
     "(A: T, B: T) -> (Y: T) {alpha: float = 1, transA: int = 0, transB: int = 0, transBatchA: int "
     "= 0, transBatchB: int = 0} T in floats bf16"}};
constexpr Version kTransposeMatMulHistory[] = {
    {1,
     "(A: T, B: T) -> (Y: T) {alpha: float = 1, transA: int = 0, transB: int = 0} T in floats "
     "bf16"}};
constexpr Version kFusedMatMulActivationHistory[] = {
    {1,
     "(A: T, B: T) -> (Y: T) {activation!: string, activation_alpha: float, activation_axis: int, "
     "activation_beta: float, activation_gamma: float, alpha: float = 1, transA: int = 0, transB: "
     "int = 0, transBatchA: int = 0, transBatchB: int = 0} T in floats bf16"}};
constexpr Version kFusedGemmHistory[] = {
    {1,
     "(A: T, B: T, C?: T) -> (Y: T) {activation: string, activation_alpha: float, activation_beta: "
     "float, activation_gamma: float, alpha: float = 1, beta: float = 1, transA: int = 0, transB: "
     "int = 0} T in floats u32 u64 i32 i64"}};
constexpr Version kGemmFastGeluHistory[] = {
    {1, "(X: T, W: T, bias?: T) -> (Y: T) T in f32 f16 bf16"}};

// The operand with its matrices turned: the batch axes behind the first one move before it
// (batch), then the last two axes change places (matrix). A vector stays as it is.
Wire turned(Composer& c, Wire x, bool matrix, bool batch) {
  const size_t rank = c.fact(x).rank();
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = int64_t(i);
  if (rank < 2 || (!matrix && !batch)) return x;
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[rank - 2], perm[rank - 1]);
  return c.transpose(x, perm);
}

// alpha * (A B)
Wire product(Composer& c) {
  const auto flag = [&](std::string_view name) { return c.node().i_or(name, 0) != 0; };
  const Wire a = turned(c, c.in(0), flag("transA"), flag("transBatchA"));
  const Wire b = turned(c, c.in(1), flag("transB"), flag("transBatchB"));
  const Wire y = c.add(matmul, {a, b});
  const float alpha = c.node().f("alpha");
  return alpha == 1 ? y : c.add(mul, {y, c.number(c.fact(y).type, double(alpha))});
}

// activation_alpha, activation_beta and activation_gamma, as far as they are given.
std::vector<float> parameters(const Node& node) {
  std::vector<float> params;
  for (const std::string_view name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (node.has(name)) params.push_back(node.f(name));
  }
  return params;
}

std::string activation_of(const Node& node) {
  return node.has("activation") ? node.s("activation") : std::string();
}

Result<Wires> compose_product(Composer& c) { return Wires{product(c)}; }

Result<Wires> compose_product_activation(Composer& c) {
  const Wire y = product(c);
  if (activation_of(c.node()) == "Softmax") {
    return Wires{c.add(softmax, {y}, {{"axis", c.node().i_or("activation_axis", -1)}})};
  }
  return Wires{activated(c, y, activation_of(c.node()), parameters(c.node()))};
}

Result<Wires> compose_fused_gemm(Composer& c) {
  const AttrMap attrs{{"alpha", c.node().f("alpha")},
                      {"beta", c.node().f("beta")},
                      {"transA", c.node().i("transA")},
                      {"transB", c.node().i("transB")}};
  const Wire y = c.add(gemm, {c.in(0), c.in(1), c.in(2)}, attrs);
  return Wires{activated(c, y, activation_of(c.node()), parameters(c.node()))};
}

Result<Wires> compose_gemm_fast_gelu(Composer& c) {
  Wire y = c.add(matmul, {c.in(0), c.in(1)});
  if (c.has(2)) y = c.add(add, {y, c.in(2)});
  return Wires{c.add(gelu, {y}, {{"approximate", std::string("tanh")}})};
}

std::vector<Case> cases_fused_matmul() {
  return {{.name = "turned_and_scaled",
           .opset = 1,
           .attrs = {{"alpha", 2.f}, {"transA", int64_t{1}}},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2, 1}, {1, 10})},
           .expected = {Tensor::of<float>({2, 1}, {62, 84})}},
          {.name = "batch_axes_behind_the_rows",
           .opset = 1,
           .attrs = {{"transBatchA", int64_t{1}}, {"transBatchB", int64_t{1}}},
           .inputs = {noise({5, 2, 3, 8}), noise({8, 2, 3, 4}, 2)}},
          {.name = "both_turned",
           .opset = 1,
           .attrs = {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", .125f}},
           .inputs = {noise({2, 33, 20}), noise({2, 17, 33}, 2)}}};
}
std::vector<Case> cases_transpose_matmul() {
  return {{.name = "the_second_turned",
           .opset = 1,
           .attrs = {{"transB", int64_t{1}}},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
           .expected = {Tensor::of<float>({1, 2}, {5, 11})}}};
}
std::vector<Case> cases_product_activation() {
  return {{.name = "relu",
           .opset = 1,
           .attrs = {{"activation", std::string("Relu")}},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({2, 2}, {1, -2, 3, -4})},
           .expected = {Tensor::of<float>({1, 2}, {7, 0})}}};
}
std::vector<Case> cases_fused_gemm() {
  return {{.name = "leaky",
           .opset = 1,
           .attrs = {{"activation", std::string("LeakyRelu")}, {"activation_alpha", .5f}},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({2, 2}, {1, -2, 3, -4}),
                      Tensor::of<float>({2}, {1, 0})},
           .expected = {Tensor::of<float>({1, 2}, {8, -5})}},
          {.name = "long_rows",
           .opset = 1,
           .attrs = {{"activation", std::string("Tanh")}, {"transB", int64_t{1}}},
           .inputs = {noise({9, 40}), noise({50, 40}, 2), noise({50}, 3)}}};
}
std::vector<Case> cases_gemm_fast_gelu() {
  return {{.name = "adds_the_bias_first",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({2, 2}, {1, 10, 3, 20}),
                      Tensor::of<float>({2}, {-7, 0})},
           .expected = {Tensor::of<float>({1, 2}, {0, 50})}}};
}

constexpr OpOf<Composition> kFusedMatMul = composed<compose_product>(
    kDomain, "FusedMatMul", "The product of matrices, turned and scaled as told.",
    kFusedMatMulHistory, cases_fused_matmul);
constexpr OpOf<Composition> kTransposeMatMul = composed<compose_product>(
    kDomain, "TransposeMatMul", "The product of matrices, turned and scaled as told.",
    kTransposeMatMulHistory, cases_transpose_matmul);
constexpr OpOf<Composition> kFusedMatMulActivation = composed<compose_product_activation>(
    kDomain, "FusedMatMulActivation", "FusedMatMul and an activation.",
    kFusedMatMulActivationHistory, cases_product_activation);
constexpr OpOf<Composition> kFusedGemm = composed<compose_fused_gemm>(
    kDomain, "FusedGemm", "Gemm and an activation.", kFusedGemmHistory, cases_fused_gemm);
constexpr OpOf<Composition> kGemmFastGelu = composed<compose_gemm_fast_gelu>(
    kDomain, "GemmFastGelu", "FastGelu of X W + bias.", kGemmFastGeluHistory, cases_gemm_fast_gelu);

}  // namespace

extern const Op fused_matmul = erase<kFusedMatMul>();
extern const Op transpose_matmul = erase<kTransposeMatMul>();
extern const Op fused_matmul_activation = erase<kFusedMatMulActivation>();
extern const Op fused_gemm = erase<kFusedGemm>();
extern const Op gemm_fast_gelu = erase<kGemmFastGelu>();

}  // namespace sdx::ops::microsoft
