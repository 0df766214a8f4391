// Products of dequantised matrices as text in, text out. The rule changes bits, so what it must
// equal to the bit is the integer form.
#include <gtest/gtest.h>

#include <algorithm>

#include "rewrite/rewrite.h"
#include "rewrite/rewrite_testing.h"

namespace sdx::rewrite {
namespace {

std::vector<std::string> ops_of(const typed::Graph& made) {
  std::vector<std::string> names;
  for (const typed::Node& node : made.nodes()) {
    if (node.kind == typed::Node::Kind::op) names.emplace_back(node.op().name);
  }
  return names;
}

typed::Graph standard(std::string_view text) {
  auto made = to_standard_numerics(graph(text));
  EXPECT_TRUE(made.ok()) << made.error().text();
  EXPECT_TRUE(made->verify().ok());
  return *std::move(made);
}

// All scales are powers of two: nothing rounds in floats either.
const char* const kHead = R"(graph "g" {
  %a = input : u8[2,3,4]
  %sa = f32[] {0.25}
  %za = u8[] {3}
  %sy = f32[] {0.125}
  %zy = u8[] {100}
)";
const char* const kWeights = R"(
  %b = i8[4,2] {5, -7, 1, 2, -128, 127, 3, 4}
  %sb = f32[2] {0.5, 0.25}
  %zb = i8[2] {0, 1}
  %1 = DequantizeLinear.13 (%a, %sa, %za)
  %2 = DequantizeLinear.13 {axis=-1} (%b, %sb, %zb)
  %3 = MatMul.13 (%1, %2)
)";
const char* const kQuantised = R"(
  %4 = QuantizeLinear.13 (%3, %sy, %zy)
  output "y" = %4
})";
const char* const kFloats = "  output \"y\" = %3\n}";

std::vector<Value> bytes() {
  Tensor a = Tensor::make(DType::u8, {2, 3, 4});
  for (size_t i = 0; i < a.count(); ++i) a.data<uint8_t>()[i] = uint8_t(i * 37 + i * i * 11);
  return {a};
}

void expect_same(const typed::Graph& one, const typed::Graph& other,
                 const std::vector<Value>& inputs) {
  const auto a = typed::eval(one, inputs), b = typed::eval(other, inputs);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(equal((*a)[0], (*b)[0]));
}

TEST(QdqMatMul, a_product_between_bytes_is_the_integer_product) {
  const std::string text = std::string(kHead) + kWeights + kQuantised;
  const typed::Graph made = standard(text);
  EXPECT_EQ(ops_of(made), std::vector<std::string>{"QLinearMatMul"});
  expect_same(made, graph(text), bytes());
}

TEST(QdqMatMul, a_product_that_is_read_as_floats_is_an_integer_product_and_one_scaling) {
  const std::string text = std::string(kHead) + kWeights + kFloats;
  const typed::Graph made = standard(text);
  EXPECT_EQ(ops_of(made), (std::vector<std::string>{"MatMulInteger", "Cast", "Mul"}));
  expect_same(made, graph(text), bytes());
}

TEST(QdqMatMul, both_operands_may_be_activations) {
  const std::string text = std::string(kHead) + R"(
  %b = input : i8[2,4,2]
  %sb = f32[] {0.5}
  %1 = DequantizeLinear.13 (%a, %sa, %za)
  %2 = DequantizeLinear.13 (%b, %sb)
  %3 = MatMul.13 (%1, %2)
)" + kQuantised;
  const typed::Graph made = standard(text);
  EXPECT_EQ(ops_of(made), std::vector<std::string>{"QLinearMatMul"});
  std::vector<Value> inputs = bytes();
  Tensor b = Tensor::make(DType::i8, {2, 4, 2});
  for (size_t i = 0; i < b.count(); ++i) b.data<int8_t>()[i] = int8_t(i * 29 + i * i * 7);
  inputs.emplace_back(b);
  expect_same(made, graph(text), inputs);
}

TEST(QdqMatMul, a_product_stays_in_floats_where_its_sums_might_not_fit) {
  const auto with_terms = [](const std::string& k) {
    return "graph \"g\" {\n  %a = input : u8[1," + k + "]\n  %b = input : u8[" + k +
           R"(,1]
  %s = f32[] {0.25}
  %z = u8[] {0}
  %1 = DequantizeLinear.13 (%a, %s, %z)
  %2 = DequantizeLinear.13 (%b, %s, %z)
  %3 = MatMul.13 (%1, %2)
  %4 = QuantizeLinear.13 (%3, %s, %z)
  output "y" = %4
})";
  };
  const auto multiplies_floats = [](const typed::Graph& made) {
    const std::vector<std::string> ops = ops_of(made);
    return std::find(ops.begin(), ops.end(), "MatMul") != ops.end();
  };
  EXPECT_FALSE(multiplies_floats(standard(with_terms("33025"))));  // 33025 * 255 * 255 < 2^31
  EXPECT_TRUE(multiplies_floats(standard(with_terms("33026"))));
  EXPECT_TRUE(multiplies_floats(standard(with_terms("N"))));
}

TEST(QdqMatMul, a_scale_per_row_of_the_right_matrix_stays) {
  std::string text = std::string(kHead) + kWeights + kQuantised;
  const auto put = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("%sb = f32[2] {0.5, 0.25}", "%sb = f32[4] {0.5, 0.25, 1, 2}");
  put("%zb = i8[2] {0, 1}", "%zb = i8[4] {0, 1, 0, 0}");
  put("{axis=-1}", "{axis=0}");
  const std::vector<std::string> ops = ops_of(standard(text));
  EXPECT_NE(std::find(ops.begin(), ops.end(), "MatMul"), ops.end());
}

}  // namespace
}  // namespace sdx::rewrite
