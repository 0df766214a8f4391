// The rule as text in, text out. It changes bits, so what it must equal to the bit is the integer
// convolution.
#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

// A 1x1 convolution of two channels into one; the scale of x is a power of two.
const char* const kIsland = R"(graph "g" {
  %x = input : u8[1,2,2,2]
  %sx = f32[] {0.25}
  %zx = u8[] {3}
  %w = i8[1,2,1,1] {5, -7}
  %sw = f32[] {0.5}
  %zw = i8[] {0}
  %b = f32[1] {1.0}
  %sy = f32[] {0.125}
  %zy = u8[] {10}
  %1 = DequantizeLinear.13 (%x, %sx, %zx)
  %2 = DequantizeLinear.13 (%w, %sw, %zw)
  %3 = Conv.11 (%1, %2, %b)
  %4 = QuantizeLinear.13 (%3, %sy, %zy)
  output "y" = %4
})";

const char* const kIntegers = R"(graph "g" {
  %x = input : u8[1,2,2,2]
  %sx = f32[] {0.25}
  %zx = u8[] {3}
  %w = i8[1,2,1,1] {5, -7}
  %sw = f32[] {0.5}
  %zw = i8[] {0}
  %b = i32[1] {8}
  %sy = f32[] {0.125}
  %zy = u8[] {10}
  %1 = QLinearConv.10 (%x, %sx, %zx, %w, %sw, %zw, %sy, %zy, %b)
  output "y" = %1
})";

TEST(QdqConv, an_island_becomes_the_integer_convolution_and_equals_it) {
  const typed::Graph island = graph(kIsland), integers = graph(kIntegers);
  const auto made = to_standard_numerics(island);
  ASSERT_TRUE(made.ok()) << made.error().text();
  size_t convolutions = 0;
  for (const typed::Node& node : made->nodes()) {
    if (node.kind != typed::Node::Kind::op) continue;
    EXPECT_EQ(node.op().name, "QLinearConv") << "nothing of the float form is left";
    ++convolutions;
  }
  EXPECT_EQ(convolutions, 1U);
  EXPECT_TRUE(made->verify().ok());
  const std::vector<Value> x = {Tensor::of<uint8_t>({1, 2, 2, 2}, {0, 1, 2, 255, 254, 128, 3, 77})};
  const auto a = typed::eval(*made, x), b = typed::eval(integers, x);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(equal((*a)[0], (*b)[0]));
  // Here no product rounds in floats either, so the float form must agree.
  const auto c = typed::eval(island, x);
  ASSERT_TRUE(c.ok());
  EXPECT_TRUE(equal((*a)[0], (*c)[0]));
}

TEST(QdqConv, a_bias_that_integers_would_change_by_more_than_half_a_step_of_the_output_stays) {
  std::string text = kIsland;
  const auto put = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("%sx = f32[] {0.25}", "%sx = f32[] {1.0}");
  put("%sw = f32[] {0.5}", "%sw = f32[] {1.0}");
  put("%b = f32[1] {1.0}", "%b = f32[1] {0.3}");
  const auto converts = [](const std::string& given) {
    const auto made = to_standard_numerics(graph(given));
    EXPECT_TRUE(made.ok()) << made.error().text();
    const auto nodes = made->nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const typed::Node& node) {
      return node.kind == typed::Node::Kind::op && node.op().name == "QLinearConv";
    });
  };
  EXPECT_FALSE(converts(text));  // 0.3 would become 0, which is 2.4 steps of 0.125
  put("%sy = f32[] {0.125}", "%sy = f32[] {0.75}");
  EXPECT_TRUE(converts(text));
}

TEST(QdqConv, a_convolution_that_somebody_else_reads_stays) {
  std::string text = kIsland;
  text.insert(text.find("  output"), "  output \"c\" = %3\n");
  const auto made = to_standard_numerics(graph(text));
  ASSERT_TRUE(made.ok()) << made.error().text();
  for (const typed::Node& node : made->nodes()) {
    if (node.kind == typed::Node::Kind::op) {
      EXPECT_NE(node.op().name, "QLinearConv");
    }
  }
}

}  // namespace
}  // namespace sdx::rewrite
