// What floats between two quantisations do is done on bytes; and the outputs keep every bit.
#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"
#include "rewrite/rules.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

TEST(QuantisedElementwise, a_sum_of_dequantised_bytes_is_one_pass_over_bytes) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,40]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = QuantizeLinear.13 (%x, %t, %z)
      %3 = DequantizeLinear.13 (%1, %s, %z)
      %4 = DequantizeLinear.13 (%2, %t, %z)
      %5 = Add.14 (%3, %4)
      %6 = QuantizeLinear.13 (%5, %t, %z)
      output "y" = %6
    })",
                 R"(graph "g" {
      %x = input : f32[2,40]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = QuantizeLinear.13 (%x, %t, %z)
      %3 = sardonyx::QuantisedElementwise.1 {code=["add 0 1"], scales=[0.125,0.25,0.25], zeros=[128,128,128]} (%1, %2)
      output "y" = %3
    })");
}

TEST(QuantisedElementwise, a_row_and_a_number_broadcast_over_bytes) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,4]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %r = u8[4] {1, 2, 3, 255}
      %c = f32[] {0.7}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = DequantizeLinear.13 (%1, %s, %z)
      %3 = DequantizeLinear.13 (%r, %t, %z)
      %4 = Add.14 (%2, %3)
      %5 = Mul.14 (%4, %c)
      %6 = QuantizeLinear.13 (%5, %t, %z)
      output "y" = %6
    })",
                 R"(graph "g" {
      %x = input : f32[2,4]
      %s = f32[] {0.125}
      %z = u8[] {128}
      %r = u8[4] {1, 2, 3, 255}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %one = u8[] {1}
      %2 = sardonyx::QuantisedElementwise.1 {code=["add 0 1", "mul 3 2"], scales=[0.125,0.25,0.7,0.25], zeros=[128,128,0,128]} (%1, %r, %one)
      output "y" = %2
    })");
}

constexpr const char* kSwishOfBytes = R"(graph "g" {
      %x = input : f32[2,3000]
      %s = f32[] {0.0625}
      %t = f32[] {0.00390625}
      %z = u8[] {128}
      %n = u8[] {0}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = DequantizeLinear.13 (%1, %s, %z)
      %3 = Sigmoid.13 (%2)
      %4 = QuantizeLinear.13 (%3, %t, %n)
      %5 = DequantizeLinear.13 (%4, %t, %n)
      %6 = Mul.14 (%2, %5)
      %7 = QuantizeLinear.13 (%6, %s, %z)
      output "y" = %7
    })";

TEST(QuantisedTables, a_function_of_functions_of_one_byte_is_a_table) {
  const typed::Graph before = graph(kSwishOfBytes);
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(operators(*after), 2u) << "QuantizeLinear and MapBytes";
  EXPECT_NE(typed::print(*after).find("sardonyx::MapBytes"), std::string::npos);
  expect_same_answers(before, *after, {Value(some({2, 3000}, 7, 0x1p-28f))});
}

TEST(QuantisedTables, a_function_of_two_tensors_is_none) {
  std::string text = kSwishOfBytes;
  text.replace(text.find("(%2, %5)"), 8, "(%m, %5)");
  text.replace(text.find("      %1 ="), 0,
               "      %y = input : f32[3000]\n      %q = QuantizeLinear.13 (%y, %s, %z)\n"
               "      %m = DequantizeLinear.13 (%q, %s, %z)\n");
  const typed::Graph before = graph(text);
  const auto after = optimize(before);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(typed::print(*after).find("sardonyx::MapBytes"), std::string::npos);
  expect_same_answers(before, *after,
                      {Value(some({2, 3000}, 7, 0x1p-28f)), Value(some({3000}, 8, 0x1p-28f))});
}

TEST(QuantisedMoves, what_moves_elements_moves_bytes) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,3,4]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %d = i64[2] {4, 6}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = DequantizeLinear.13 (%1, %s, %z)
      %3 = Transpose.13 {perm=[2,1,0]} (%2)
      %4 = QuantizeLinear.13 (%3, %s, %z)
      %5 = DequantizeLinear.13 (%4, %s, %z)
      %6 = Reshape.13 (%5, %d)
      %7 = QuantizeLinear.13 (%6, %t, %z)
      output "y" = %7
    })",
                 R"(graph "g" {
      %x = input : f32[2,3,4]
      %s = f32[] {0.125}
      %z = u8[] {128}
      %d = i64[2] {4, 6}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = Transpose.13 {perm=[2,1,0]} (%1)
      %3 = sardonyx::QuantisedElementwise.1 {code=["replace_nan 0 0 0"], scales=[0.125,0.25], zeros=[128,128]} (%2)
      %4 = Reshape.13 (%3, %d)
      output "y" = %4
    })");
}

TEST(QuantisedMoves, the_parts_of_a_concat_are_quantised_as_its_result) {
  expect_rewrite(R"(graph "g" {
      %a = input : f32[2,3]
      %b = input : f32[2,4]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %x = QuantizeLinear.13 (%a, %s, %z)
      %y = QuantizeLinear.13 (%b, %t, %z)
      %1 = DequantizeLinear.13 (%x, %s, %z)
      %2 = DequantizeLinear.13 (%y, %t, %z)
      %3 = Concat.13 {axis=1} (%1, %2)
      %4 = QuantizeLinear.13 (%3, %s, %z)
      output "y" = %4
    })",
                 R"(graph "g" {
      %a = input : f32[2,3]
      %b = input : f32[2,4]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %x = QuantizeLinear.13 (%a, %s, %z)
      %y = QuantizeLinear.13 (%b, %t, %z)
      %1 = sardonyx::QuantisedElementwise.1 {code=["replace_nan 0 0 0"], scales=[0.25,0.125], zeros=[128,128]} (%y)
      %2 = Concat.13 {axis=1} (%x, %1)
      output "y" = %2
    })");
}

TEST(QuantisedMoves, a_scale_that_a_byte_does_not_survive_is_kept) {
  // 255 times it is beyond all floats: the bytes would not come back.
  expect_rewrite(R"(graph "g" {
      %a = input : f32[2,3]
      %f = f32[] {0.01}
      %s = f32[] {3e+38}
      %z = u8[] {0}
      %x = QuantizeLinear.13 (%a, %f, %z)
      %1 = DequantizeLinear.13 (%x, %s, %z)
      %2 = Transpose.13 {perm=[1,0]} (%1)
      %3 = QuantizeLinear.13 (%2, %s, %z)
      output "y" = %3
    })",
                 R"(graph "g" {
      %a = input : f32[2,3]
      %f = f32[] {0.01}
      %z = u8[] {0}
      %x = QuantizeLinear.13 (%a, %f, %z)
      %1 = sardonyx::QuantisedElementwise.1 {code=["replace_nan 0 0 0"], scales=[3e+38,3e+38], zeros=[0,0]} (%x)
      %2 = Transpose.13 {perm=[1,0]} (%1)
      output "y" = %2
    })");
}

TEST(ChannelsLast, images_turn_once_for_two_convolutions) {
  typed::TextTable table;
  table.tensors.push_back(Tensor::of<int8_t>({4, 4, 1, 1}, {1, -2, 3, 4, 5, 6, -7, 8,  //
                                                            9, 1, 2, 3, -4, 5, 6, 7}));
  expect_rewrite(R"(graph "g" {
      %x = input : f32[1,4,5,6]
      %s = f32[] {0.125}
      %z = u8[] {128}
      %w = <i8[4,4,1,1] #0>
      %v = i8[] {0}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = QLinearConv.10 (%1, %s, %z, %w, %s, %v, %s, %z)
      %3 = QLinearConv.10 (%2, %s, %z, %w, %s, %v, %s, %z)
      output "y" = %3
    })",
                 R"(graph "g" {
      %x = input : f32[1,4,5,6]
      %s = f32[] {0.125}
      %z = u8[] {128}
      %w = <i8[4,4,1,1] #0>
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = Transpose.25 {perm=[0,2,3,1]} (%1)
      %3 = sardonyx::QLinearConvChannelsLast.1 (%2, %s, %z, %w, %s, %s, %z)
      %4 = sardonyx::QLinearConvChannelsLast.1 (%3, %s, %z, %w, %s, %s, %z)
      %5 = Transpose.25 {perm=[0,3,1,2]} (%4)
      output "y" = %5
    })",
                 table);
}

TEST(ChannelsLast, a_convolution_adds_other_bytes_on_its_way) {
  typed::TextTable table;
  table.tensors.push_back(Tensor::of<int8_t>({2, 2, 1, 1}, {1, -2, 3, 4}));
  expect_rewrite(R"(graph "g" {
      %x = input : f32[1,2,5,6]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %w = <i8[2,2,1,1] #0>
      %v = i8[] {0}
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = QLinearConv.10 (%1, %s, %z, %w, %s, %v, %s, %z)
      %3 = QLinearConv.10 (%2, %s, %z, %w, %s, %v, %t, %z)
      %4 = DequantizeLinear.13 (%2, %s, %z)
      %5 = DequantizeLinear.13 (%3, %t, %z)
      %6 = Add.14 (%4, %5)
      %7 = Relu.14 (%6)
      %8 = QuantizeLinear.13 (%7, %s, %z)
      output "y" = %8
    })",
                 R"(graph "g" {
      %x = input : f32[1,2,5,6]
      %s = f32[] {0.125}
      %t = f32[] {0.25}
      %z = u8[] {128}
      %w = <i8[2,2,1,1] #0>
      %1 = QuantizeLinear.13 (%x, %s, %z)
      %2 = Transpose.25 {perm=[0,2,3,1]} (%1)
      %3 = sardonyx::QLinearConvChannelsLast.1 (%2, %s, %z, %w, %s, %s, %z)
      %4 = sardonyx::QLinearConvChannelsLast.1 {sum_code=["add 0 1", "relu 2 0 0"], sum_scales=[0.25,0.125,0.125], sum_zeros=[128,128,128]} (%3, %s, %z, %w, %s, %t, %z, _, %3)
      %5 = Transpose.25 {perm=[0,3,1,2]} (%4)
      output "y" = %5
    })",
                 table);
}

}  // namespace
}  // namespace sdx::rewrite
