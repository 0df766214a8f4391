#include <gtest/gtest.h>

#include "base/budget.h"
#include "rewrite/rewrite.h"
#include "rewrite/rewrite_testing.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

// Of so many elements that typing does not fold what is made from it.
constexpr int64_t kSide = 1024;

Tensor weights(DType type) {
  Tensor made = Tensor::make(type, {kSide, kSide});
  auto* halves = made.data<uint16_t>();
  for (size_t i = 0; i < made.count(); ++i) halves[i * bits(type) / 16] = uint16_t(i % 0x7000);
  return made;
}

typed::Graph graph_on(const char* text, Tensor value) {
  typed::TextTable table;
  table.tensors.push_back(std::move(value));
  auto made = typed::parse(text, table);
  EXPECT_TRUE(made) << made.error().text();
  return *std::move(made);
}

const char* const kCast = R"(graph "g" {
  %x = input : f32[1,1024]
  %w = <f16[1024,1024] #0>
  %c = Cast.13 {to=1} (%w)
  %m = Relu.14 (%c)
  %y = MatMul.13 (%x, %m)
  output "y" = %y
})";

Tensor row() {
  Tensor x = Tensor::make(DType::f32, {1, kSide});
  for (size_t i = 0; i < x.count(); ++i) x.data<float>()[i] = float(i % 7) - 3;
  return x;
}

TEST(ConstantArithmetic, what_large_weights_give_is_made_once) {
  const typed::Graph before = graph_on(kCast, weights(DType::f16));
  ASSERT_EQ(operators(before), 3u);
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(operators(*after), 1u);
  expect_same_answers(before, *after, {row()});
}

TEST(ConstantArithmetic, products_of_weights_are_made_once_as_far_as_the_account_goes) {
  const char* const text = R"(graph "g" {
  %x = input : f32[1,1024]
  %a = <f32[1024,1024] #0>
  %b = MatMul.13 (%a, %a)
  %y = MatMul.13 (%x, %b)
  output "y" = %y
})";
  typed::TextTable table;
  table.tensors.push_back(some({kSide, kSide}, 5));
  const auto before = typed::parse(text, table);
  ASSERT_TRUE(before.ok()) << before.error().text();
  {
    const Budget::Scope scope;
    const auto after = optimize(*before);
    ASSERT_TRUE(after.ok()) << after.error().text();
    EXPECT_EQ(operators(*after), 2u) << "a file of a few bytes may not ask for so much work";
  }
  const Budget::Scope scope;
  Budget::open()->grant_bytes(size_t{kSide} * kSide * 64);
  const auto after = optimize(*before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(operators(*after), 1u);
  expect_same_answers(*before, *after, {row()});
}

TEST(ConstantArithmetic, what_the_budget_of_a_model_does_not_allow_is_left_to_the_run) {
  const typed::Graph before = graph_on(kCast, weights(DType::f16));
  const Budget::Scope scope;
  ASSERT_TRUE(Budget::open()->take_bytes(Budget::kBytes));
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_GT(operators(*after), 1u);
}

TEST(ConstantArithmetic, a_result_that_its_inputs_do_not_warrant_is_left_to_the_run) {
  const typed::Graph before = graph(R"(graph "g" {
  %x = input : f32[1,1024]
  %w = f32[1,1] {0.5}
  %s = i64[2] {1024, 1024}
  %e = Expand.13 (%w, %s)
  %y = MatMul.13 (%x, %e)
  output "y" = %y
})");
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(operators(*after), operators(before));
}

}  // namespace
}  // namespace sdx::rewrite
