#include "plan/plan.h"

#include <gtest/gtest.h>

#include "typed/text.h"

namespace sdx::plan {

TEST(Plan, a_weight_that_several_nodes_read_is_packed_once_also_where_there_is_one_plan) {
  auto graph = typed::parse(R"(graph "g" {
      %x = input : f32[2,3]
      %w = f32[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}
      %1 = MatMul.13 (%x, %w)
      %2 = MatMul.13 (%1, %w)
      %v = f32[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}
      %3 = MatMul.13 (%2, %v)
      output "y" = %3
    })");
  ASSERT_TRUE(graph) << graph.error().text();
  Pool pool(1);
  const auto plan = choose_steps(*std::move(graph), {}, pool, nullptr);
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->steps.size(), 3u);
  EXPECT_NE(plan->steps[0].packed, nullptr);
  EXPECT_EQ(plan->steps[0].packed, plan->steps[1].packed);
  EXPECT_NE(plan->steps[0].packed, plan->steps[2].packed);
}

}  // namespace sdx::plan
