// Attention as it is exported, one operation afterwards; and the outputs keep every bit.
#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"
#include "rewrite/rules.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

TEST(FuseAttention, the_exported_form_becomes_one_operation) {
  expect_rewrite(R"(graph "g" {
      %q = input : f32[1,2,30,8]
      %k = input : f32[1,2,8,21]
      %v = input : f32[1,2,21,5]
      %mask = input : f32[1,1,1,21]
      %c = f32[] {0.0}
      %1 = MatMul.13 (%q, %k)
      %2 = Add.14 (%mask, %1)
      %3 = Softmax.13 (%2)
      %4 = IsNaN.20 (%3)
      %5 = Where.16 (%4, %c, %3)
      %6 = MatMul.13 (%5, %v)
      output "y" = %6
    })",
                 R"(graph "g" {
      %q = input : f32[1,2,30,8]
      %k = input : f32[1,2,8,21]
      %v = input : f32[1,2,21,5]
      %mask = input : f32[1,1,1,21]
      %1 = sardonyx::FusedAttention.1 {scores=["add 1 0"], weights=["replace_nan 0 0 0"]} (%q, %k, %v, %mask)
      output "y" = %1
    })");
}

TEST(FuseAttention, scores_that_are_read_elsewhere_stay) {
  const char* same = R"(graph "g" {
      %q = input : f32[30,8]
      %k = input : f32[8,21]
      %v = input : f32[21,5]
      %1 = MatMul.13 (%q, %k)
      %2 = Softmax.13 (%1)
      %3 = MatMul.13 (%2, %v)
      output "y" = %3
      output "weights" = %2
    })";
  expect_rewrite(same, same);
}

TEST(FuseAttention, heads_are_read_and_written_between_the_positions) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[1,13,16]
      %w = input : f32[16,16]
      %c = f32[] {0.125}
      %s = i64[4] {1, 13, 2, 8}
      %m = i64[3] {2, 13, 8}
      %p = i64[4] {1, 2, 8, 13}
      %1 = MatMul.13 (%x, %w)
      %2 = Reshape.14 (%1, %s)
      %3 = Transpose.13 {perm=[0,2,1,3]} (%2)
      %4 = Reshape.14 (%x, %s)
      %5 = Transpose.13 {perm=[0,2,1,3]} (%4)
      %6 = Reshape.14 (%5, %m)
      %7 = Transpose.13 {perm=[0,2,1]} (%6)
      %8 = Reshape.14 (%7, %p)
      %9 = Mul.14 (%3, %c)
      %10 = MatMul.13 (%9, %8)
      %11 = Softmax.13 (%10)
      %12 = Transpose.13 {perm=[0,2,1,3]} (%4)
      %13 = MatMul.13 (%11, %12)
      %14 = Transpose.13 {perm=[0,2,1,3]} (%13)
      output "y" = %14
    })",
                 R"(graph "g" {
      %x = input : f32[1,13,16]
      %w = input : f32[16,16]
      %c = f32[] {0.125}
      %s = i64[4] {1, 13, 2, 8}
      %1 = MatMul.13 (%x, %w)
      %4 = Reshape.14 (%x, %s)
      %2 = sardonyx::Elementwise.1 {code=["mul 0 1"]} (%1, %c)
      %3 = Reshape.14 (%2, %s)
      %13 = sardonyx::FusedAttention.1 {k_perm=[0,2,3,1], q_perm=[0,2,1,3], scores=[], v_perm=[0,2,1,3], weights=[], y_perm=[0,2,1,3]} (%3, %4, %4)
      output "y" = %13
    })");
}

TEST(FuseAttention, repeated_heads_and_scaled_keys_are_read_where_they_lie) {
  expect_rewrite(R"(graph "g" {
      %q = input : f32[1,6,1,8]
      %k = input : f32[1,2,5,8]
      %v = input : f32[1,2,5,8]
      %m = input : f32[1,1,1,5]
      %axis = i64[1] {2}
      %wide = i64[5] {1, 2, 3, 5, 8}
      %heads = i64[4] {1, 6, 5, 8}
      %matrices = i64[3] {6, 5, 8}
      %turned = i64[4] {1, 6, 8, 5}
      %c = f32[] {0.5}
      %1 = Unsqueeze.21 (%k, %axis)
      %2 = Expand.13 (%1, %wide)
      %3 = Reshape.21 (%2, %matrices)
      %4 = Transpose.21 {perm=[0,2,1]} (%3)
      %5 = Reshape.21 (%4, %turned)
      %6 = Mul.14 (%5, %c)
      %7 = MatMul.13 (%q, %6)
      %8 = Add.14 (%7, %m)
      %9 = Softmax.13 (%8)
      %10 = Unsqueeze.21 (%v, %axis)
      %11 = Expand.13 (%10, %wide)
      %12 = Reshape.21 (%11, %heads)
      %13 = MatMul.13 (%9, %12)
      output "y" = %13
    })",
                 R"(graph "g" {
      %q = input : f32[1,6,1,8]
      %k = input : f32[1,2,5,8]
      %v = input : f32[1,2,5,8]
      %m = input : f32[1,1,1,5]
      %1 = sardonyx::FusedAttention.1 {k_perm=[0,1,3,2], k_scale=0.5, repeat=3, scores=["add 0 1"], weights=[]} (%q, %k, %v, %m)
      output "y" = %1
    })");
}

}  // namespace
}  // namespace sdx::rewrite
