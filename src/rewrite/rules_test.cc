// Every rule as text in, text out; and the outputs keep every bit.
#include "rewrite/rules.h"

#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

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

}  // namespace
}  // namespace sdx::rewrite
