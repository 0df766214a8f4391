#include "infer/inline.h"

#include <gtest/gtest.h>

#include "check/check.h"
#include "infer/test_infer.h"
#include "model/io.h"
#include "model/text.h"
#include "typed/eval.h"

namespace sdx::infer {
namespace {

model::Model parsed(std::string_view text) {
  auto model = model::parse_text(text);
  EXPECT_TRUE(model) << model.error().text();
  return model ? *std::move(model) : model::Model{};
}

std::vector<Value> run(const model::Model& model, std::vector<Value> inputs) {
  const auto graph = test::type_model(std::make_shared<const model::Model>(model));
  EXPECT_TRUE(graph) << graph.error().text();
  if (!graph) return {};
  Pool pool(1);
  auto outputs = typed::eval(*graph, inputs, {.pool = &pool});
  EXPECT_TRUE(outputs) << outputs.error().text();
  return outputs ? *std::move(outputs) : std::vector<Value>{};
}

Value floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values));
}

// The inlined model is valid, has no functions, and computes the same.
model::Model expect_same(const model::Model& model, const std::vector<Value>& inputs,
                         const InlineOptions& options = {}) {
  auto made = inline_functions(model, options);
  EXPECT_TRUE(made) << made.error().text();
  if (!made) return {};
  EXPECT_TRUE(made->functions.empty());
  const auto report = check::check(*made, {});
  for (const auto& d : report.diagnostics) {
    EXPECT_NE(d.severity, check::Severity::error) << d.message << "\n" << model::print_text(*made);
  }
  const auto before = run(model, inputs), after = run(*made, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    EXPECT_TRUE(equal(before[i], after[i])) << i << "\n" << model::print_text(*made);
  }
  return *std::move(made);
}

TEST(Inline, nested_calls_with_attributes_defaults_and_overloads) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x) => (float[N] y, float[N] z, float[N] same) {
  t = local.twice <slope = 0.25> (x)
  y = local.scale:big (t)
  z = local.twice (x)
  same = local.pass (y)
}
<domain: "local", opset_import: ["" : 21, "local" : 1]>
twice <slope: float = 0.5> (x) => (y) {
  t = local.scale <by: float = @slope> (x)
  y = local.scale <by: float = @slope> (t)
}
<domain: "local", opset_import: ["" : 21]>
scale <by: float = 3.0> (x) => (y) {
  t = Constant <value_float: float = @by> ()
  y = Mul (x, t)
}
<domain: "local", overload: "big", opset_import: ["" : 21]>
scale (x) => (y) {
  t = Constant <value_float = 100.0> ()
  y = Mul (x, t)
}
<domain: "local", opset_import: ["" : 21]>
pass (x) => (x) {
}
)");
  const model::Model made = expect_same(model, {floats({1, -2, 3})});
  EXPECT_EQ(made.opset_import.size(), 1u);  // "local" is no longer needed
  ASSERT_TRUE(made.graph);
  EXPECT_EQ(made.graph->node.size(), 11u);
}

TEST(Inline, bodies_with_subgraphs_capture_and_do_not_shadow) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, bool c) => (float[N] y, float[N] z) {
  r = Neg (x)
  y = local.pick (c, r, x)
  z = local.pick (c, x, y)
}
<domain: "local", opset_import: ["" : 21]>
pick (c, a, b) => (y) {
  t = Add (a, b)
  y = If (c) <
    then_branch: graph = one () => (r) { r = Mul (t, a) },
    else_branch: graph = two () => (r) { r = If (c) <
      then_branch: graph = three () => (q) { q = Identity (b) },
      else_branch: graph = four () => (q) { q = Sub (t, b) }> }>
}
)");
  for (const bool chosen : {false, true}) {
    expect_same(model, {floats({1, -2, 3}), Tensor::scalar<bool>(chosen)});
  }
}

TEST(Inline, optional_inputs_may_be_left_out) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, float least) => (float[N] y, float[N] z, float[N] w) {
  y = local.limit (x)
  z = local.limit (x, least)
  w = local.limit (x, "", least)
}
<domain: "local", opset_import: ["" : 21]>
limit (x, a, b) => (y) { y = Clip (x, a, b) }
)");
  expect_same(model, {floats({1, -2, 3}), Tensor::scalar<float>(0.5f)});
}

TEST(Inline, recursion_is_refused_and_the_chain_printed) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x) => (float[N] y) { y = local.A (x) }
<domain: "local", opset_import: ["local" : 1]>
A (x) => (y) { y = local.B (x) }
<domain: "local", opset_import: ["local" : 1]>
B (x) => (y) { y = local.A (x) }
)");
  const auto made = inline_functions(model);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "SDX-G0004");
  EXPECT_NE(made.error().what.find("local.A -> local.B -> local.A"), std::string::npos);
  const auto typed = test::type_model(std::make_shared<const model::Model>(model));
  ASSERT_FALSE(typed);
  EXPECT_NE(typed.error().what.find("local.A -> local.B -> local.A"), std::string::npos)
      << typed.error().what;
}

TEST(Inline, a_body_of_another_version_fits_if_its_operators_mean_the_same) {
  const std::string_view text = R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x) => (float[N] y) {{ y = local.f (x) }}
<domain: "local", opset_import: ["" : {}]>
f (x) => (y) {{ t = Relu (x) y = Softmax (t) }}
)";
  expect_same(parsed(fmt::format(fmt::runtime(text), 14)), {floats({1, -2, 3})});
  const auto made = inline_functions(parsed(fmt::format(fmt::runtime(text), 11)));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "SDX-G0020");
}

TEST(Inline, operators_that_are_functions_are_expanded) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21]>
g (float[N] x) => (bool[N] a, float[N] b, float[N] c, float[N] d, float[N] e, float[N] f) {
  zero = Constant <value_float = 0.0> ()
  a = LessOrEqual (x, zero)
  b = LeakyRelu <alpha = 0.125> (x)
  c = ThresholdedRelu (x)
  d = HardSigmoid (x)
  e = Softsign (x)
  f = PRelu (x, x)
}
)");
  const model::Model made = expect_same(model, {floats({1, -2, 3, 0, 0.25})}, {.operators = true});
  for (const model::Node& node : made.graph->node) {
    const auto unknown = [](const std::string&) -> const Fact* { return nullptr; };
    EXPECT_FALSE(operator_body({node, 21, unknown})) << node.op_type;
  }
  EXPECT_GT(made.graph->node.size(), 20u);
}

TEST(Inline, every_function_of_onnx_has_a_body) { EXPECT_EQ(operators_with_bodies().size(), 46u); }

// The official suite has these in versions before 13 only.
TEST(Inline, quantising_and_shrinking_are_expanded) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21]>
g (float[N] x) => (uint8[N] y, float scale, uint8 zero, float[N] soft) {
  y, scale, zero = DynamicQuantizeLinear (x)
  soft = Shrink <lambd = 1.5, bias = 1.5> (x)
}
)");
  const model::Model made = expect_same(model, {floats({1, -2, 3, 0, 0.25})}, {.operators = true});
  for (const model::Node& node : made.graph->node) {
    EXPECT_NE(node.op_type, "DynamicQuantizeLinear");
    EXPECT_NE(node.op_type, "Shrink");
    EXPECT_NE(node.op_type, "Clip");  // of the body of a body
    EXPECT_NE(node.op_type, "CastLike");
  }
}

TEST(Inline, a_body_that_needs_to_know_more_leaves_the_operator) {
  const model::Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21]>
g (bfloat16[N] x, float[] f) => (bfloat16[N] y, float[] l) <float[2] scale = {1, 2}> {
  y = Softmax (x)
  l = LayerNormalization <axis = 1> (f, scale)
}
)");
  const auto made = inline_functions(model, {.operators = true});
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made->graph->node.size(), 2u);
}

}  // namespace
}  // namespace sdx::infer
