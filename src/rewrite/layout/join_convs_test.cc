// The joining of two convolutions as text in, text out; and the outputs keep every bit.
#include <gtest/gtest.h>

#include "rewrite/rewrite.h"
#include "rewrite/rewrite_testing.h"
#include "rewrite/rules.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

std::string joined(const std::string& before) {
  typed::TextTable table;
  table.tensors = {some({96, 16, 1, 1}, 1), some({96, 1, 3, 3}, 2), some({96}, 3),
                   some({96, 16, 3, 3}, 4)};
  const auto graph = typed::parse(before, table);
  if (!graph.ok()) return graph.error().text();
  const auto made = apply_rules(*graph, joining_rules(), "joining_rules");
  if (!made.ok()) return made.error().text();
  const std::vector<Value> inputs = {Value(some(graph->fact(graph->inputs()[0]).dims(), 9))};
  expect_same_answers(*graph, *made, inputs);
  typed::TextTable again;
  return typed::print(*made, &again);
}

std::string graph(const char* size, const char* strided, const char* more = "") {
  return fmt::format(R"(graph "g" {{
  %x = input : f32[1,1,{0},{0},16]
  %1 = <f32[96,16,1,1] #0>
  %2 = <f32[96,1,3,3] #1>
  %3 = <f32[96] #2>
  %4 = sardonyx::ConvBlocked.1 (%x, %1, %3) : f32[1,6,{0},{0},16]
  %5 = sardonyx::Elementwise.1 {{code=["clip 0 0 6"]}} (%4) : f32[1,6,{0},{0},16]
  %6 = sardonyx::ConvBlocked.1 {{group=96, pads=[1,1,1,1], strides=[2,2]}} (%5, %2) : f32[1,6,{1},{1},16]
  output "y" = %6
{2}}}
)",
                     size, strided, more);
}

TEST(JoinConvs, a_large_wire_between_two_convolutions_is_not_made) {
  EXPECT_EQ(joined(graph("60", "30")), R"(graph "g" {
  %x = input : f32[1,1,60,60,16]
  %1 = <f32[96,16,1,1] #0>
  %2 = <f32[96,1,3,3] #1>
  %3 = <f32[96] #2>
  %4 = sardonyx::ConvPairBlocked.1 {between=["clip 0 0 6"], pads=[1,1,1,1], strides=[2,2]} (%x, %1, %2, %3, _) : f32[1,6,30,30,16]
  output "y" = %4
}
)");
}

TEST(JoinConvs, a_small_wire_is) {
  const std::string same = graph("10", "5");
  EXPECT_EQ(joined(same), same);
}

TEST(JoinConvs, a_wire_that_others_read_is) {
  const std::string same = graph("60", "30", "  output \"z\" = %5\n");
  EXPECT_EQ(joined(same), same);
}

TEST(JoinConvs, groups_of_several_channels_stay_as_they_are) {
  const std::string same = R"(graph "g" {
  %x = input : f32[1,1,60,60,16]
  %1 = <f32[96,16,1,1] #0>
  %2 = <f32[96,16,3,3] #3>
  %3 = sardonyx::ConvBlocked.1 (%x, %1) : f32[1,6,60,60,16]
  %4 = sardonyx::ConvBlocked.1 {group=6, pads=[1,1,1,1]} (%3, %2) : f32[1,6,60,60,16]
  output "y" = %4
}
)";
  EXPECT_NE(joined(same).find("ConvBlocked.1 {group=6"), std::string::npos) << joined(same);
}

}  // namespace
}  // namespace sdx::rewrite
