// Functions that are given graphs.
#include <gtest/gtest.h>

#include "infer/inline.h"
#include "infer/test_infer.h"
#include "model/text.h"
#include "typed/eval.h"

namespace sdx::infer {
namespace {

std::vector<float> run(const model::Model& model, std::vector<Value> inputs) {
  const auto graph = test::type_model(std::make_shared<const model::Model>(model));
  EXPECT_TRUE(graph) << graph.error().text();
  if (!graph) return {};
  const auto outputs = typed::eval(*graph, inputs, {});
  EXPECT_TRUE(outputs) << outputs.error().text();
  if (!outputs) return {};
  const auto values = (*outputs)[0].tensor().values<float>();
  return {values.begin(), values.end()};
}
// What the model computes, as it is and with its functions inlined.
std::vector<float> twice(std::string_view text, const std::vector<Value>& inputs) {
  const auto model = model::parse_text(text);
  EXPECT_TRUE(model) << model.error().text();
  if (!model) return {};
  const auto inlined = inline_functions(*model);
  EXPECT_TRUE(inlined) << inlined.error().text();
  const std::vector<float> values = run(*model, inputs);
  if (inlined) {
    EXPECT_EQ(run(*inlined, inputs), values) << model::print_text(*inlined);
  }
  return values;
}
Value floats(std::initializer_list<float> values) {
  return Tensor::of<float>({int64_t(values.size())}, values);
}

// Both have a value "k": each graph means the one of the place where it is written.
TEST(GraphArguments, a_graph_sees_the_wires_of_the_place_where_it_is_written) {
  const std::string_view text = R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, bool c) => (float[N] y) {
  k = Constant <value_float = 10.0> ()
  y = local.choose <yes: graph = a () => (r) { r = Add (x, k) }> (x, c)
}
<domain: "local", opset_import: ["" : 21]>
choose <yes> (v, c) => (y) {
  k = Neg (v)
  y = If (c) <then_branch: graph = @yes, else_branch: graph = n () => (r) { r = Identity (k) }>
}
)";
  EXPECT_EQ(twice(text, {floats({1, 2}), Tensor::scalar<bool>(true)}),
            (std::vector<float>{11, 12}));
  EXPECT_EQ(twice(text, {floats({1, 2}), Tensor::scalar<bool>(false)}),
            (std::vector<float>{-1, -2}));
}

TEST(GraphArguments, are_handed_on_and_used_inside_of_subgraphs) {
  const std::string_view text = R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, int64 n) => (float[N] y) {
  two = Constant <value_float = 2.0> ()
  y = local.outer <factor = 3.0, step: graph = body (int64 i, bool c, float[N] s) => (bool d, float[N] t) {
    d = Identity (c)
    u = Mul (s, two)
    t = Add (u, x)
  }> (x, n)
}
<domain: "local", opset_import: ["" : 21, "local" : 1]>
outer <step, factor> (x, n) => (y) {
  two = Constant <value_float: float = @factor> ()
  yes = Constant <value = bool {1}> ()
  y = If (yes) <
    then_branch: graph = t () => (r) {
      q = local.repeat <times: graph = @step> (x, n)
      r = Mul (q, two)
    },
    else_branch: graph = e () => (r) { r = Identity (x) }>
}
<domain: "local", opset_import: ["" : 21]>
repeat <times> (x, n) => (y) { y = Loop <body: graph = @times> (n, "", x) }
)";
  // s = 2 s + x, twice: 7 x; times 3.
  EXPECT_EQ(twice(text, {floats({1, 2}), Tensor::scalar<int64_t>(2)}),
            (std::vector<float>{21, 42}));
}

TEST(GraphArguments, one_graph_may_be_used_twice) {
  const std::string_view text = R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, bool c) => (float[N] y) {
  a = local.either <first: graph = p () => (r) { r = Exp (x) }, second: graph = q () => (r) { r = Neg (x) }> (c)
  b = local.either <first: graph = p () => (r) { r = Abs (x) }, second: graph = q () => (r) { r = Neg (x) }> (c)
  n = Not (c)
  d = local.either <first: graph = p () => (r) { r = Neg (a) }, second: graph = q () => (r) { r = Add (b, b) }> (n)
  y = Add (d, x)
}
<domain: "local", opset_import: ["" : 21]>
either <first, second> (c) => (y) {
  u = If (c) <then_branch: graph = @first, else_branch: graph = @second>
  v = If (c) <then_branch: graph = @second, else_branch: graph = @first>
  y = Add (u, v)
}
)";
  // b = |x| - x whichever comes first; d = 2 b - a, a = exp(x) - x.
  const std::vector<float> y = twice(text, {floats({-1}), Tensor::scalar<bool>(true)});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_FLOAT_EQ(y[0], 4 - (std::exp(-1.f) + 1) - 1);
}

TEST(GraphArguments, may_have_a_default) {
  const std::string_view text = R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, bool c) => (float[N] y) {
  a = local.offset (x, c)
  y = local.offset <of: graph = p () => (r) { r = Neg (x) }> (a, c)
}
<domain: "local", opset_import: ["" : 21]>
offset <of: graph = five () => (r) { r = Constant <value_float = 5.0> () }> (x, c) => (y) {
  t = If (c) <then_branch: graph = @of, else_branch: graph = @of>
  y = Add (x, t)
}
)";
  EXPECT_EQ(twice(text, {floats({1, 2}), Tensor::scalar<bool>(true)}), (std::vector<float>{5, 5}));
}

}  // namespace
}  // namespace sdx::infer
