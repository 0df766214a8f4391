// What stands between two convolutions follows them into their layout, in floats and in bytes.
#include <gtest/gtest.h>

#include "ops/conv/blocked.h"
#include "ops/list.h"
#include "rewrite/rewrite.h"
#include "rewrite/rewrite_testing.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

size_t count(const typed::Graph& graph, std::initializer_list<const Op*> wanted) {
  size_t found = 0;
  for (const typed::Node& node : graph.nodes()) {
    for (const Op* op : wanted)
      found += node.kind == typed::Node::Kind::op && node.use.op == op ? 1 : 0;
  }
  return found;
}

// The optimised graph; it gives the same bits.
typed::Graph optimized(const std::string& before, std::vector<Tensor> tensors) {
  typed::TextTable table;
  table.tensors = std::move(tensors);
  const auto graph = typed::parse(before, table);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  const auto made = optimize(*graph);
  EXPECT_TRUE(made.ok()) << made.error().text();
  std::vector<Value> inputs;
  for (const typed::Outlet input : graph->inputs())
    inputs.emplace_back(some(graph->fact(input).dims(), uint32_t(inputs.size() + 9)));
  expect_same_answers(*graph, *made, inputs);
  return *made;
}

// `between` makes %b : f32[1,32,h,w] of %a : f32[1,32,8,8].
void expect_blocks_around(const std::string& between) {
  const typed::Graph made = optimized(R"(graph "g" {
  %x = input : f32[1,32,8,8]
  %w = <f32[32,32,1,1] #0>
  %two = i64[2] {16, 16}
  %pads = i64[8] {0, 0, 1, 1, 0, 0, 1, 1}
  %sizes = i64[4] {1, 32, 16, 16}
  %from = i64[1] {16}
  %to = i64[1] {32}
  %one = i64[1] {1}
  %s = <f32[32] #1>
  %1 = Conv.22 (%x, %w)
  %2 = Conv.22 (%1, %w)
  %3 = Conv.22 (%2, %w)
  %4 = Conv.22 (%3, %w)
  %a = Conv.22 (%4, %w)
)" + between + R"(
  %5 = Conv.22 (%b, %w)
  %6 = Conv.22 (%5, %w)
  %7 = Conv.22 (%6, %w)
  %8 = Conv.22 (%7, %w)
  output "y" = %8
})",
                                      {some({32, 32, 1, 1}, 1), some({32}, 2)});
  EXPECT_EQ(count(made, {&ops::to_blocked}), 1u) << typed::print(made);
  EXPECT_EQ(count(made, {&ops::from_blocked}), 1u) << typed::print(made);
}

TEST(BetweenConvolutions, padding_stays_in_blocks) {
  expect_blocks_around("  %b = Pad.21 (%a, %pads)");
}
TEST(BetweenConvolutions, resizing_stays_in_blocks) {
  expect_blocks_around("  %b = Resize.19 {mode=\"linear\"} (%a, _, _, %sizes)");
}
TEST(BetweenConvolutions, parts_that_change_places_stay_in_blocks) {
  expect_blocks_around(R"(  %p, %q = Split.18 {axis=1} (%a, %two)
  %b = Concat.13 {axis=1} (%q, %p))");
}
TEST(BetweenConvolutions, a_part_of_the_channels_stays_in_blocks) {
  expect_blocks_around(R"(  %p = Slice.13 (%a, %from, %to, %one)
  %b = Concat.13 {axis=1} (%p, %p))");
}
TEST(BetweenConvolutions, poolings_stay_in_blocks) {
  expect_blocks_around(R"(  %p = AveragePool.22 {kernel_shape=[3,3], pads=[1,1,1,1]} (%a)
  %b = MaxPool.22 {kernel_shape=[2,2], strides=[2,2]} (%p))");
}
TEST(BetweenConvolutions, a_normalisation_by_known_statistics_stays_in_blocks) {
  expect_blocks_around(R"(  %v = Abs.13 (%s)
  %b = BatchNormalization.15 (%a, %s, %s, %s, %v))");
}
TEST(BetweenConvolutions, bytes_that_are_joined_and_pooled_turn_once) {
  const typed::Graph made = optimized(
      R"(graph "g" {
  %x = input : f32[1,4,6,6]
  %s = f32[] {0.125}
  %z = u8[] {128}
  %w = <i8[4,4,1,1] #0>
  %u = <i8[4,8,1,1] #1>
  %v = i8[] {0}
  %1 = QuantizeLinear.13 (%x, %s, %z)
  %2 = QLinearConv.10 (%1, %s, %z, %w, %s, %v, %s, %z)
  %3 = QLinearConv.10 (%2, %s, %z, %w, %s, %v, %s, %z)
  %4 = DequantizeLinear.13 (%2, %s, %z)
  %5 = DequantizeLinear.13 (%3, %s, %z)
  %6 = Concat.13 {axis=1} (%4, %5)
  %7 = AveragePool.22 {kernel_shape=[2,2], strides=[2,2]} (%6)
  %8 = QuantizeLinear.13 (%7, %s, %z)
  %9 = QLinearConv.10 (%8, %s, %z, %u, %s, %v, %s, %z)
  output "y" = %9
})",
      {Tensor::of<int8_t>({4, 4, 1, 1}, {1, -2, 3, 4, 5, 6, -7, 8,  //
                                         9, 1, 2, 3, -4, 5, 6, 7}),
       Tensor::of<int8_t>({4, 8, 1, 1}, {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3, -4, 5, 6, 7,
                                         1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3, -4, 5, 6, 7})});
  EXPECT_EQ(count(made, {&ops::transpose}), 2u) << typed::print(made);
}

}  // namespace
}  // namespace sdx::rewrite
