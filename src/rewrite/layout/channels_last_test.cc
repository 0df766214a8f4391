// Images with their channels last as text in, text out; and the outputs keep every bit.
#include <gtest/gtest.h>

#include "rewrite/rewrite.h"
#include "rewrite/rewrite_testing.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

void expect_images(const std::string& before, const std::string& after,
                   std::vector<Tensor> tensors) {
  typed::TextTable table;
  table.tensors = std::move(tensors);
  const auto graph = typed::parse(before, table);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto made = optimize(*graph);
  ASSERT_TRUE(made.ok()) << made.error().text();
  typed::TextTable again;
  EXPECT_EQ(typed::print(*made, &again), after);
  std::vector<Value> inputs;
  for (const typed::Outlet input : graph->inputs())
    inputs.emplace_back(some(graph->fact(input).dims(), uint32_t(inputs.size() + 9)));
  expect_same_answers(*graph, *made, inputs);
}

TEST(ChannelsLast, a_convolution_between_tokens_reads_them_where_they_lie) {
  expect_images(R"(graph "g" {
  %x = input : f32[1,20,8]
  %1 = <f32[8,32] #0>
  %2 = <f32[32,1,3,3] #1>
  %3 = <f32[32] #2>
  %4 = i64[4] {1, 32, 4, 5}
  %5 = i64[3] {1, 32, 20}
  %6 = MatMul.13 (%x, %1) : f32[1,20,32]
  %7 = Transpose.25 {perm=[0,2,1]} (%6) : f32[1,32,20]
  %8 = Reshape.25 (%7, %4) : f32[1,32,4,5]
  %9 = Conv.22 {group=32, pads=[1,1,1,1]} (%8, %2, %3) : f32[1,32,4,5]
  %10 = Reshape.25 (%9, %5) : f32[1,32,20]
  %11 = Transpose.25 {perm=[0,2,1]} (%10) : f32[1,20,32]
  %12 = Gelu.20 (%11) : f32[1,20,32]
  output "y" = %12
}
)",
                R"(graph "g" {
  %x = input : f32[1,20,8]
  %1 = <f32[8,32] #0>
  %2 = <f32[32,1,3,3] #1>
  %3 = <f32[32] #2>
  %4 = MatMul.13 (%x, %1) : f32[1,20,32]
  %5 = i64[4] {1, 4, 5, 32}
  %6 = Reshape.25 (%4, %5) : f32[1,4,5,32]
  %7 = sardonyx::ConvChannelsLast.1 {group=32, pads=[1,1,1,1]} (%6, %2, %3) : f32[1,4,5,32]
  %8 = sardonyx::Elementwise.1 {code=["gelu 0 0 0"]} (%7) : f32[1,4,5,32]
  %9 = i64[3] {1, 20, 32}
  %10 = Reshape.25 (%8, %9) : f32[1,20,32]
  output "y" = %10
}
)",
                {some({8, 32}, 1), some({32, 1, 3, 3}, 2), some({32}, 3)});
}

TEST(ChannelsLast, a_residual_with_a_factor_per_channel_goes_along) {
  expect_images(R"(graph "g" {
  %x = input : f32[1,4,5,32]
  %1 = <f32[32,1,3,3] #0>
  %2 = <f32[32,1,1] #1>
  %3 = Transpose.25 {perm=[0,3,1,2]} (%x) : f32[1,32,4,5]
  %4 = Conv.22 {group=32, pads=[1,1,1,1]} (%3, %1) : f32[1,32,4,5]
  %5 = Mul.14 (%2, %4) : f32[1,32,4,5]
  %6 = Add.14 (%5, %3) : f32[1,32,4,5]
  %7 = Transpose.25 {perm=[0,2,3,1]} (%6) : f32[1,4,5,32]
  output "y" = %7
}
)",
                R"(graph "g" {
  %x = input : f32[1,4,5,32]
  %1 = <f32[32,1,3,3] #0>
  %2 = sardonyx::ConvChannelsLast.1 {group=32, pads=[1,1,1,1]} (%x, %1, _) : f32[1,4,5,32]
  %3 = <f32[1,1,1,32] #1>
  %4 = sardonyx::Elementwise.1 {code=["mul 0 1","add 3 2"]} (%3, %2, %x) : f32[1,4,5,32]
  output "y" = %4
}
)",
                {some({32, 1, 3, 3}, 1), some({32, 1, 1}, 2)});
}

TEST(ChannelsLast, what_a_pointwise_convolution_joins_is_not_copied) {
  expect_images(R"(graph "g" {
  %x = input : f32[1,3,3,16]
  %z = input : f32[1,6,6,32]
  %2 = <f32[8,48,1,1] #0>
  %3 = i64[4] {1, 16, 6, 6}
  %4 = Transpose.25 {perm=[0,3,1,2]} (%x) : f32[1,16,3,3]
  %5 = Resize.19 {mode="linear"} (%4, _, _, %3) : f32[1,16,6,6]
  %6 = Transpose.25 {perm=[0,3,1,2]} (%z) : f32[1,32,6,6]
  %7 = Concat.13 {axis=1} (%5, %6) : f32[1,48,6,6]
  %8 = Conv.22 (%7, %2) : f32[1,8,6,6]
  %9 = Relu.14 (%8) : f32[1,8,6,6]
  output "y" = %9
}
)",
                R"(graph "g" {
  %x = input : f32[1,3,3,16]
  %z = input : f32[1,6,6,32]
  %2 = <f32[8,48,1,1] #0>
  %3 = i64[4] {1, 16, 6, 6}
  %4 = Resize.19 {axes=[0,3,1,2], mode="linear"} (%x, _, _, %3) : f32[1,6,6,16]
  %5 = sardonyx::ConvChannelsLast.1 (%4, %2, _, %z) : f32[1,6,6,8]
  %6 = sardonyx::Elementwise.1 {code=["relu 0 0 0"]} (%5) : f32[1,6,6,8]
  %7 = Transpose.25 {perm=[0,3,1,2]} (%6) : f32[1,8,6,6]
  output "y" = %7
}
)",
                {some({8, 48, 1, 1}, 1)});
}

TEST(ChannelsLast, a_net_that_starts_with_a_turned_image_stays_as_it_is) {
  const char* same = R"(graph "g" {
  %x = input : f32[1,6,6,16]
  %1 = <f32[16,16,3,3] #0>
  %2 = Transpose.25 {perm=[0,3,1,2]} (%x) : f32[1,16,6,6]
  %3 = Conv.22 {pads=[1,1,1,1]} (%2, %1) : f32[1,16,6,6]
  output "y" = %3
}
)";
  expect_images(same, same, {some({16, 16, 3, 3}, 1)});
}

TEST(ChannelsLast, a_resize_of_computed_numbers_to_their_own_size_goes) {
  expect_images(R"(graph "g" {
  %x = input : f32[1,2,3,3]
  %1 = i64[4] {1, 2, 3, 3}
  %2 = Exp.13 (%x) : f32[1,2,3,3]
  %3 = Resize.19 {mode="linear"} (%2, _, _, %1) : f32[1,2,3,3]
  output "y" = %3
}
)",
                R"(graph "g" {
  %x = input : f32[1,2,3,3]
  %1 = Exp.13 (%x) : f32[1,2,3,3]
  output "y" = %1
}
)",
                {});
}

// The optimised graph as text; its answers are those of the graph.
std::string optimized(const std::string& before, std::vector<Tensor> tensors) {
  typed::TextTable table;
  table.tensors = std::move(tensors);
  const auto graph = typed::parse(before, table);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  const auto made = optimize(*graph);
  EXPECT_TRUE(made.ok()) << made.error().text();
  if (!graph.ok() || !made.ok()) return "";
  std::vector<Value> inputs;
  for (const typed::Outlet input : graph->inputs())
    inputs.emplace_back(some(graph->fact(input).dims(), uint32_t(inputs.size() + 9)));
  expect_same_answers(*graph, *made, inputs);
  typed::TextTable again;
  return typed::print(*made, &again);
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ChannelsLast, signals_of_few_rows_are_convolved_so_and_long_ones_are_not) {
  const auto convolved = [](int64_t rows) {
    return optimized(fmt::format(R"(graph "g" {{
  %x = input : f32[1,16,{0}]
  %1 = <f32[64,16,3] #0>
  %2 = <f32[16,64,1] #1>
  %3 = Conv.22 {{dilations=[2]}} (%x, %1) : f32[1,64,{1}]
  %4 = Tanh.13 (%3) : f32[1,64,{1}]
  %5 = Conv.22 (%4, %2) : f32[1,16,{1}]
  output "y" = %5
}}
)",
                                 rows + 4, rows),
                     {some({64, 16, 3}, 1), some({16, 64, 1}, 2)});
  };
  EXPECT_EQ(count(convolved(8), "ConvChannelsLast"), 2u);
  EXPECT_EQ(count(convolved(1), "ConvChannelsLast"), 2u);
  EXPECT_EQ(count(convolved(500), "ConvChannelsLast"), 0u);
}

TEST(ChannelsLast, parts_of_a_signal_are_not_joined_either) {
  const std::string made = optimized(R"(graph "g" {
  %x = input : f32[1,9,16]
  %z = input : f32[1,9,32]
  %2 = <f32[8,48,1] #0>
  %3 = Transpose.25 {perm=[0,2,1]} (%x) : f32[1,16,9]
  %4 = Transpose.25 {perm=[0,2,1]} (%z) : f32[1,32,9]
  %5 = Concat.13 {axis=1} (%3, %4) : f32[1,48,9]
  %6 = Conv.22 (%5, %2) : f32[1,8,9]
  output "y" = %6
}
)",
                                     {some({8, 48, 1}, 1)});
  EXPECT_EQ(count(made, "ConvChannelsLast"), 1u) << made;
  EXPECT_EQ(count(made, "Concat"), 0u) << made;
}

// A Slice with a negative step has as many elements as its input, the other way round: it is no
// view that may be left out. One reads an image as a family of layouts has it, one does not.
TEST(ChannelsLast, a_slice_that_turns_rows_round_stays) {
  const auto turned_round = [](const char* perm, const char* shape) {
    return optimized(fmt::format(R"(graph "g" {{
  %x = input : f32[2,4,5,6]
  %1 = i64[1] {{-1}}
  %2 = i64[1] {{-9223372036854775808}}
  %3 = i64[1] {{2}}
  %4 = Transpose.25 {{perm=[{0}]}} (%x) : f32[{1}]
  %5 = Slice.13 (%4, %1, %2, %3, %1) : f32[{1}]
  output "y" = %5
}}
)",
                                 perm, shape),
                     {});
  };
  for (const std::string& made :
       {turned_round("0,3,1,2", "2,6,4,5"), turned_round("0,2,1,3", "2,5,4,6")})
    EXPECT_EQ(count(made, "Slice"), 1u) << made;
}

}  // namespace
}  // namespace sdx::rewrite
