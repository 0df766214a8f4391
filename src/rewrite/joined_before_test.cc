// Concats that go on from each other, as text in, text out; and the outputs keep every bit.
#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"

namespace sdx::rewrite {
namespace {

TEST(JoinedBefore, layers_that_read_all_before_them_join_each_part_once) {
  expect_rewrite(R"(graph "g" {
      %a = input : f32[1,2,3]
      %b = input : f32[1,4,3]
      %c = input : f32[1,5,3]
      %d = input : f32[1,1,3]
      %1 = Concat.13 {axis=1} (%a, %b)
      output "ab" = %1
      %2 = Concat.13 {axis=1} (%a, %b, %c)
      output "abc" = %2
      %3 = Concat.13 {axis=1} (%a, %b, %c, %d)
      output "abcd" = %3
    })",
                 R"(graph "g" {
      %a = input : f32[1,2,3]
      %b = input : f32[1,4,3]
      %c = input : f32[1,5,3]
      %d = input : f32[1,1,3]
      %1 = Concat.13 {axis=1} (%a, %b)
      output "ab" = %1
      %2 = Concat.13 {axis=1} (%1, %c)
      output "abc" = %2
      %3 = Concat.13 {axis=1} (%2, %d)
      output "abcd" = %3
    })");
}

TEST(JoinedBefore, another_axis_or_another_order_is_another_result) {
  const char* same = R"(graph "g" {
      %a = input : f32[2,2]
      %b = input : f32[2,2]
      %c = input : f32[2,2]
      %1 = Concat.13 {axis=1} (%a, %b)
      output "rows" = %1
      %2 = Concat.13 {axis=0} (%a, %b, %c)
      output "columns" = %2
      %3 = Concat.13 {axis=1} (%b, %a, %c)
      output "other" = %3
    })";
  expect_rewrite(same, same);
}

}  // namespace
}  // namespace sdx::rewrite
