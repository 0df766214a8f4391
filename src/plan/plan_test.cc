#include "plan/plan.h"

#include <gtest/gtest.h>

#include "typed/text.h"

namespace sdx::plan {
namespace {

// A plan of a graph that will have no other; #0 is a large matrix, #1 a large kernel of one tap.
Plan only_plan(const char* text) {
  typed::TextTable table;
  table.tensors.push_back(Tensor::make(DType::f32, {512, 512}));
  table.tensors.push_back(Tensor::make(DType::f32, {1024, 512, 1}));
  auto graph = typed::parse(text, table);
  EXPECT_TRUE(graph) << graph.error().text();
  Pool pool(1);
  auto plan = choose_steps(*std::move(graph), {}, pool, nullptr);
  EXPECT_TRUE(plan) << plan.error().text();
  return *std::move(plan);
}

const Tensor* weights_of(const Plan& plan, const Step& step) {
  return plan.graph.fact(plan.graph.node(step.node).inputs[1]).value.get();
}

}  // namespace

TEST(Plan, a_weight_that_several_nodes_read_is_packed_once_also_where_there_is_one_plan) {
  const Plan plan = only_plan(R"(graph "g" {
      %x = input : f32[2,3]
      %w = f32[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}
      %1 = MatMul.13 (%x, %w)
      %2 = MatMul.13 (%1, %w)
      %v = f32[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}
      %3 = MatMul.13 (%2, %v)
      output "y" = %3
    })");
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_NE(plan.steps[0].packed, nullptr);
  EXPECT_EQ(plan.steps[0].packed, plan.steps[1].packed);
  EXPECT_NE(plan.steps[0].packed, plan.steps[2].packed);
}

TEST(Plan, a_constant_that_every_reader_has_packed_goes) {
  const Plan plan = only_plan(R"(graph "g" {
      %x = input : f32[64,512]
      %w = <f32[512,512] #0>
      %1 = MatMul.13 (%x, %w)
      %2 = MatMul.13 (%1, %w)
      output "y" = %2
    })");
  EXPECT_NE(plan.steps[0].packed, nullptr);
  EXPECT_EQ(weights_of(plan, plan.steps[0]), nullptr);
}

TEST(Plan, weights_that_few_rows_meet_stay_where_they_are_and_are_packed_for_others) {
  const Plan plan = only_plan(R"(graph "g" {
      %x = input : f32[2,512]
      %z = input : f32[64,512]
      %w = <f32[512,512] #0>
      %1 = MatMul.13 (%x, %w)
      %2 = MatMul.13 (%z, %w)
      %3 = Gemm.13 (%x, %w)
      output "y" = %1
      output "z" = %2
      output "g" = %3
    })");
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].packed, nullptr);
  EXPECT_NE(plan.steps[1].packed, nullptr);
  EXPECT_EQ(plan.steps[2].packed, nullptr);
  EXPECT_NE(weights_of(plan, plan.steps[0]), nullptr);
}

TEST(Plan, a_convolutions_large_weights_that_few_outputs_meet_stay_where_they_are) {
  const Plan few = only_plan(R"(graph "g" {
      %x = input : f32[1,512,49]
      %w = <f32[1024,512,1] #1>
      %1 = Conv.11 (%x, %w)
      output "y" = %1
    })");
  EXPECT_EQ(few.steps[0].packed, nullptr);
  EXPECT_NE(weights_of(few, few.steps[0]), nullptr);
  const Plan many = only_plan(R"(graph "g" {
      %x = input : f32[1,512,490]
      %w = <f32[1024,512,1] #1>
      %1 = Conv.11 (%x, %w)
      output "y" = %1
    })");
  EXPECT_NE(many.steps[0].packed, nullptr);
}

}  // namespace sdx::plan
