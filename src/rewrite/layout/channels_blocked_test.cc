// The layout of convolutions as text in, text out; and the outputs keep every bit.
#include <gtest/gtest.h>

#include "rewrite/layout/layout.h"
#include "rewrite/rewrite_testing.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

typed::TextTable weights() {
  typed::TextTable table;
  table.tensors = {some({24, 3, 3, 3}, 1), some({24, 1, 3, 3}, 2), some({40, 24, 1, 1}, 3),
                   some({24, 40, 1, 1}, 4), some({24}, 5)};
  return table;
}

void expect_layout(const std::string& before, const std::string& after) {
  const typed::TextTable table = weights();
  const auto graph = typed::parse(before, table);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto made = lay_out(*graph, Aim::kernels);
  ASSERT_TRUE(made.ok()) << made.error().text();
  typed::TextTable again;
  EXPECT_EQ(typed::print(*made, &again), after);
  const std::vector<Value> inputs = {Value(some(graph->fact(graph->inputs()[0]).dims(), 9))};
  expect_same_answers(*graph, *made, inputs);
}

TEST(ChannelsBlocked, an_island_of_convolutions_keeps_its_channels_in_blocks) {
  expect_layout(R"(graph "g" {
  %x = input : f32[1,3,15,15]
  %1 = <f32[24,3,3,3] #0>
  %2 = <f32[24,1,3,3] #1>
  %3 = <f32[40,24,1,1] #2>
  %4 = <f32[24,40,1,1] #3>
  %5 = <f32[24] #4>
  %6 = Conv.22 {group=1, strides=[2,2]} (%x, %1, %5) : f32[1,24,7,7]
  %7 = Relu.14 (%6) : f32[1,24,7,7]
  %8 = Conv.22 {group=24, pads=[1,1,1,1]} (%7, %2) : f32[1,24,7,7]
  %9 = GlobalAveragePool.22 (%8) : f32[1,24,1,1]
  %10 = Conv.22 {group=1} (%9, %3) : f32[1,40,1,1]
  %11 = Conv.22 {group=1} (%10, %4) : f32[1,24,1,1]
  %12 = Sigmoid.13 (%11) : f32[1,24,1,1]
  %13 = Mul.14 (%8, %12) : f32[1,24,7,7]
  %14 = MaxPool.22 {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]} (%13) : f32[1,24,4,4]
  output "y" = %14
}
)",
                R"(graph "g" {
  %x = input : f32[1,3,15,15]
  %1 = <f32[24,3,3,3] #0>
  %2 = <f32[24,1,3,3] #1>
  %3 = <f32[40,24,1,1] #2>
  %4 = <f32[24,40,1,1] #3>
  %5 = <f32[24] #4>
  %6 = sardonyx::ConvBlocked.1 {strides=[2,2]} (%x, %1, %5) : f32[1,2,7,7,16]
  %7 = Relu.14 (%6) : f32[1,2,7,7,16]
  %8 = sardonyx::ConvBlocked.1 {group=24, pads=[1,1,1,1]} (%7, %2) : f32[1,2,7,7,16]
  %9 = i64[2] {2, 3}
  %10 = ReduceMean.18 (%8, %9) : f32[1,2,1,1,16]
  %11 = sardonyx::ConvBlocked.1 (%10, %3) : f32[1,3,1,1,16]
  %12 = sardonyx::ConvBlocked.1 (%11, %4) : f32[1,2,1,1,16]
  %13 = Sigmoid.13 (%12) : f32[1,2,1,1,16]
  %14 = Mul.14 (%8, %13) : f32[1,2,7,7,16]
  %15 = MaxPool.22 {kernel_shape=[3,3,1], pads=[1,1,0,1,1,0], strides=[2,2,1]} (%14) : f32[1,2,4,4,16]
  %16 = sardonyx::FromBlocked.1 {channels=24} (%15) : f32[1,24,4,4]
  output "y" = %16
}
)");
}

TEST(ChannelsBlocked, a_lone_convolution_stays_as_it_is) {
  const std::string same = R"(graph "g" {
  %x = input : f32[1,24,7,7]
  %1 = <f32[40,24,1,1] #0>
  %2 = Conv.22 {group=1} (%x, %1) : f32[1,40,7,7]
  output "y" = %2
}
)";
  typed::TextTable weight;
  weight.tensors = {some({40, 24, 1, 1}, 3)};
  const auto graph = typed::parse(same, weight);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto made = lay_out(*graph, Aim::kernels);
  ASSERT_TRUE(made.ok());
  typed::TextTable before, after;
  EXPECT_EQ(typed::print(*made, &after), typed::print(*graph, &before));
}

}  // namespace
}  // namespace sdx::rewrite
