// Every rule as text in, text out; and the outputs keep every bit.
#include "rewrite/rules.h"

#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

// Values that rounding, signs and NaN would show.
Tensor awkward(const Dims& dims, uint32_t seed) {
  Tensor tensor = some(dims, seed, 0x1p-29f);
  if (tensor.count() > 4) {
    tensor.data<float>()[1] = -0.0f;
    tensor.data<float>()[2] = std::numeric_limits<float>::quiet_NaN();
    tensor.data<float>()[3] = std::numeric_limits<float>::infinity();
  }
  return tensor;
}

void expect_rewrite(const std::string& before, const std::string& after,
                    const typed::TextTable& table = {}) {
  const auto graph = typed::parse(before, table);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto made = optimize(*graph);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const auto expected = typed::parse(after, table);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  EXPECT_EQ(typed::print(*made), typed::print(*expected));

  std::vector<Value> inputs;
  for (const typed::Outlet input : graph->inputs()) {
    inputs.emplace_back(awkward(graph->fact(input).dims(), uint32_t(inputs.size() + 1)));
  }
  expect_same_answers(*graph, *made, inputs);
}

TEST(FuseElementwise, a_chain_becomes_one_program) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,37]
      %b = input : f32[37]
      %1 = Sigmoid.13 (%x)
      %2 = Mul.14 (%x, %1)
      %3 = Add.14 (%2, %b)
      output "y" = %3
    })",
                 R"(graph "g" {
      %x = input : f32[2,37]
      %b = input : f32[37]
      %1 = sardonyx::Elementwise.1 {code=["sigmoid 0 0 0", "mul 0 2", "add 3 1"]} (%x, %b)
      output "y" = %1
    })");
}

TEST(FuseElementwise, a_wire_with_two_readers_is_kept) {
  const char* same = R"(graph "g" {
      %x = input : f32[8]
      %1 = Exp.13 (%x)
      output "e" = %1
      %2 = Neg.13 (%1)
      output "y" = %2
    })";
  expect_rewrite(same, same);
}

TEST(FuseElementwise, a_smaller_operand_is_not_computed_again_for_every_element) {
  const char* same = R"(graph "g" {
      %x = input : f32[4,8]
      %b = input : f32[8]
      %1 = Exp.13 (%b)
      %2 = Add.14 (%x, %1)
      output "y" = %2
    })";
  expect_rewrite(same, same);
}

TEST(FuseElementwise, sums_are_not_reassociated) {
  expect_rewrite(R"(graph "g" {
      %a = input : f32[9]
      %b = input : f32[9]
      %c = input : f32[9]
      %1 = Add.14 (%b, %c)
      %2 = Add.14 (%a, %1)
      output "y" = %2
    })",
                 R"(graph "g" {
      %a = input : f32[9]
      %b = input : f32[9]
      %c = input : f32[9]
      %1 = sardonyx::Elementwise.1 {code=["add 1 2", "add 0 3"]} (%a, %b, %c)
      output "y" = %1
    })");
}

TEST(ReplaceNan, the_guard_after_softmax_is_one_instruction) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,8]
      %c = f32[] {0.0}
      %1 = Softmax.13 (%x)
      %2 = IsNaN.20 (%1)
      %3 = Where.16 (%2, %c, %1)
      output "y" = %3
    })",
                 R"(graph "g" {
      %x = input : f32[2,8]
      %1 = Softmax.13 (%x)
      %2 = sardonyx::Elementwise.1 {code=["replace_nan 0 0 0"]} (%1)
      output "y" = %2
    })");
}

TEST(TransposedWeights, a_product_reads_the_weights_as_they_lie) {
  // Large enough that folding leaves the transposition alone.
  typed::TextTable table;
  table.tensors.push_back(awkward({2050, 2049}, 7));
  expect_rewrite(R"(graph "g" {
      %x = input : f32[1,2049]
      %w = <f32[2050,2049] #0>
      %1 = Transpose.13 {perm=[1,0]} (%w)
      %2 = MatMul.13 (%x, %1)
      output "y" = %2
    })",
                 R"(graph "g" {
      %x = input : f32[1,2049]
      %w = <f32[2050,2049] #0>
      %1 = sardonyx::MatMulTransposed.1 (%x, %w)
      output "y" = %1
    })",
                 table);
}

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

TEST(Transposes, transposes_that_meet_become_one_or_none) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,3,4]
      %1 = Transpose.13 {perm=[1,0,2]} (%x)
      %2 = Transpose.13 (%1)
      %3 = Transpose.13 {perm=[0,2,1]} (%x)
      %4 = Transpose.13 {perm=[0,2,1]} (%3)
      %5 = Neg.13 (%4)
      output "y" = %2
      output "z" = %5
    })",
                 R"(graph "g" {
      %x = input : f32[2,3,4]
      %5 = Neg.13 (%x)
      %2 = Transpose.25 {perm=[2,0,1]} (%x)
      output "y" = %2
      output "z" = %5
    })");
}

TEST(IntegerProducts, sums_that_are_floats_next_are_made_so) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[5,40]
      %s = input : f32[1]
      %b = input : f32[40]
      %1, %2, %3 = DynamicQuantizeLinear.11 (%x)
      %4 = Transpose.13 {perm=[1,0]} (%1)
      %5 = MatMulInteger.10 (%4, %1, %3, %3)
      %6 = Cast.13 {to=1} (%5)
      %7 = Mul.14 (%6, %s)
      %8 = Add.14 (%7, %b)
      output "y" = %8
      output "scale" = %2
    })",
                 R"(graph "g" {
      %x = input : f32[5,40]
      %s = input : f32[1]
      %b = input : f32[40]
      %1, %2, %3 = DynamicQuantizeLinear.11 (%x)
      %4 = Transpose.13 {perm=[1,0]} (%1)
      %5 = sardonyx::MatMulIntegerToFloat.1 (%4, %1, %3, %3)
      %6 = sardonyx::Elementwise.1 {code=["mul 0 1", "add 3 2"]} (%5, %s, %b)
      output "y" = %6
      output "scale" = %2
    })");
}

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

TEST(WideHalves, floats_flow_between_convolutions_of_halves) {
  typed::TextTable table;
  Tensor w = Tensor::make(DType::f16, {3, 3, 1, 1}), b = Tensor::make(DType::f16, {3});
  for (size_t i = 0; i < 9; ++i)
    static_cast<uint16_t*>(w.raw())[i] = uint16_t(0x2e66 + 777 * i + (i % 2) * 0x8000);
  for (size_t i = 0; i < 3; ++i) static_cast<uint16_t*>(b.raw())[i] = uint16_t(0x3000 + 99 * i);
  table.tensors = {w, b};
  const char* text = R"(graph "g" {
      %x = input : f32[1,3,5,6]
      %w = <f16[3,3,1,1] #0>
      %b = <f16[3] #1>
      %1 = Cast.13 {to=10} (%x)
      %2 = Conv.11 (%1, %w, %b)
      %3 = Relu.14 (%2)
      %4 = MaxPool.12 {kernel_shape=[2,2]} (%3)
      %5 = Conv.11 (%4, %w)
      %6 = Sigmoid.13 (%5)
      %7 = Mul.14 (%5, %6)
      %8 = Add.14 (%7, %4)
      %9 = GlobalAveragePool.1 (%8)
      %10 = Conv.11 (%9, %w)
      %11 = Cast.13 {to=1} (%10)
      output "y" = %11
      output "z" = %8
    })";
  const auto graph = typed::parse(text, table);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto made = optimize(*graph);
  ASSERT_TRUE(made.ok()) << made.error().text();
  size_t casts = 0, convolutions = 0;
  for (const typed::Node& node : made->nodes()) {
    if (node.kind != typed::Node::Kind::op) continue;
    casts += node.op().name == "Cast" ? 1 : 0;
    if (node.op().name.starts_with("Conv")) {
      ++convolutions;
      EXPECT_EQ(node.outputs[0].type, DType::f32);
    }
  }
  EXPECT_EQ(convolutions, 3U);
  EXPECT_LE(casts, 5U) << "only where halves come in and go out";
  expect_same_answers(*graph, *made, {awkward({1, 3, 5, 6}, 1)});
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

TEST(SpelledOut, a_power_of_two_is_a_product) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,37]
      %two = f32[] {2.0}
      %1 = Pow.15 (%x, %two)
      output "y" = %1
    })",
                 R"(graph "g" {
      %x = input : f32[2,37]
      %1 = Mul.14 (%x, %x)
      output "y" = %1
    })");
}

TEST(SpelledOut, gelu_by_tanh_is_one_operation) {
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,37]
      %half = f32[] {0.5}
      %three = f32[] {3.0}
      %k = f32[] {0.044715}
      %c = f32[] {0.7978845608}
      %one = f32[] {1.0}
      %1 = Mul.14 (%half, %x)
      %2 = Pow.15 (%x, %three)
      %3 = Mul.14 (%2, %k)
      %4 = Add.14 (%x, %3)
      %5 = Mul.14 (%4, %c)
      %6 = Tanh.13 (%5)
      %7 = Add.14 (%6, %one)
      %8 = Mul.14 (%1, %7)
      output "y" = %8
    })",
                 R"(graph "g" {
      %x = input : f32[2,37]
      %1 = Gelu.20 {approximate="tanh"} (%x)
      output "y" = %1
    })");
}

TEST(RmsNorm, powers_means_and_roots_become_one_normalisation) {
  const char* after = R"(graph "g" {
      %x = input : f32[2,3,37]
      %w = input : f32[37]
      %1 = RMSNormalization.23 {epsilon=0.25} (%x, %w)
      output "y" = %1
    })";
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,3,37]
      %w = input : f32[37]
      %two = f32[] {2.0}
      %e = f32[] {0.25}
      %axes = i64[1] {-1}
      %1 = Pow.15 (%x, %two)
      %2 = ReduceMean.18 (%1, %axes)
      %3 = Add.14 (%2, %e)
      %4 = Sqrt.13 (%3)
      %5 = Reciprocal.13 (%4)
      %6 = Mul.14 (%x, %5)
      %7 = Mul.14 (%w, %6)
      output "y" = %7
    })",
                 after);
  expect_rewrite(R"(graph "g" {
      %x = input : f32[2,3,37]
      %w = input : f32[37]
      %one = f32[] {1.0}
      %e = f32[1] {0.25}
      %1 = Mul.14 (%x, %x)
      %2 = ReduceMean.13 {axes=[2]} (%1)
      %3 = Add.14 (%e, %2)
      %4 = Sqrt.13 (%3)
      %5 = Div.14 (%one, %4)
      %6 = Mul.14 (%5, %x)
      %7 = Mul.14 (%6, %w)
      output "y" = %7
    })",
                 after);
}

TEST(RotatedHalves, a_rotary_embedding_and_its_scale_are_one_operation) {
  const char* after = R"(graph "g" {
      %x = input : f32[1,3,5,8]
      %cos = input : f32[1,1,5,8]
      %sin = input : f32[5,8]
      %1 = sardonyx::RotateHalves.1 {scale=0.3} (%x, %cos, %sin)
      output "y" = %1
    })";
  expect_rewrite(R"(graph "g" {
      %x = input : f32[1,3,5,8]
      %cos = input : f32[1,1,5,8]
      %sin = input : f32[5,8]
      %zero = i64[1] {0}
      %half = i64[1] {4}
      %end = i64[1] {9223372036854775807}
      %last = i64[1] {3}
      %c = f32[] {0.3}
      %1 = Mul.14 (%x, %cos)
      %2 = Slice.13 (%x, %zero, %half, %last)
      %3 = Slice.13 (%x, %half, %end, %last)
      %4 = Neg.13 (%3)
      %5 = Concat.13 {axis=-1} (%4, %2)
      %6 = Mul.14 (%5, %sin)
      %7 = Add.14 (%1, %6)
      %8 = Mul.14 (%7, %c)
      output "y" = %8
    })",
                 after);
  expect_rewrite(R"(graph "g" {
      %x = input : f32[1,3,5,8]
      %cos = input : f32[1,1,5,8]
      %sin = input : f32[5,8]
      %c = f32[] {0.3}
      %1, %2 = Split.18 {axis=-1, num_outputs=2} (%x)
      %3 = Neg.13 (%2)
      %4 = Concat.13 {axis=3} (%3, %1)
      %5 = Mul.14 (%sin, %4)
      %6 = Mul.14 (%cos, %x)
      %7 = Add.14 (%5, %6)
      %8 = Mul.14 (%c, %7)
      output "y" = %8
    })",
                 after);
}

TEST(RotatedHalves, halves_in_their_own_order_are_left_alone) {
  const char* same = R"(graph "g" {
      %x = input : f32[5,8]
      %sin = input : f32[5,8]
      %1, %2 = Split.18 {axis=-1, num_outputs=2} (%x)
      %3 = Neg.13 (%1)
      %4 = Concat.13 {axis=-1} (%3, %2)
      %5 = sardonyx::Elementwise.1 {code=["mul 0 1", "mul 2 1", "add 3 4"]} (%x, %sin, %4)
      output "y" = %5
    })";
  expect_rewrite(R"(graph "g" {
      %x = input : f32[5,8]
      %sin = input : f32[5,8]
      %1, %2 = Split.18 {axis=-1, num_outputs=2} (%x)
      %3 = Neg.13 (%1)
      %4 = Concat.13 {axis=-1} (%3, %2)
      %5 = Mul.14 (%x, %sin)
      %6 = Mul.14 (%4, %sin)
      %7 = Add.14 (%5, %6)
      output "y" = %7
    })",
                 same);
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
