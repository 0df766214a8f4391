#include <gtest/gtest.h>

#include "base/budget.h"
#include "rewrite/rewrite.h"
#include "rewrite/rewrite_testing.h"

namespace sdx::rewrite {
namespace {

const char* const kProduct = R"(graph "g" {
  %x = input : f32[1,4]
  %w = i8[4,2] {5, -7, 1, 2, -128, 127, 3, 4}
  %s = f32[2] {0.3, 0.7}
  %z = i8[2] {0, 1}
  %d = DequantizeLinear.13 {axis=-1} (%w, %s, %z)
  %y = MatMul.13 (%x, %d)
  output "y" = %y
})";

size_t dequantisations(const typed::Graph& made) {
  size_t count = 0;
  for (const typed::Node& node : made.nodes())
    count += node.kind == typed::Node::Kind::op && node.op().name == "DequantizeLinear" ? 1 : 0;
  return count;
}

TEST(DequantisedWeights, weights_that_a_product_reads_as_floats_are_dequantised_once) {
  const typed::Graph before = graph(kProduct);
  ASSERT_EQ(dequantisations(before), 1u);
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(dequantisations(*after), 0u);
  expect_same_answers(before, *after, {Tensor::of<float>({1, 4}, {0.1f, -2.5f, 3.25f, 7.0f})});
}

TEST(DequantisedWeights, what_the_budget_of_a_model_does_not_allow_is_left_to_the_run) {
  const typed::Graph before = graph(kProduct);
  const Budget::Scope scope;
  ASSERT_TRUE(Budget::open()->take_bytes(Budget::kBytes));
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(dequantisations(*after), 1u);
}

TEST(DequantisedWeights, bytes_that_only_the_run_knows_are_dequantised_in_the_run) {
  const typed::Graph before = graph(R"(graph "g" {
  %w = input : u8[4,2]
  %s = f32[] {0.3}
  %z = u8[] {1}
  %d = DequantizeLinear.13 (%w, %s, %z)
  output "y" = %d
})");
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(dequantisations(*after), 1u);
}

}  // namespace
}  // namespace sdx::rewrite
