#include <gtest/gtest.h>

#include "rewrite/rewrite_testing.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

// The graph after the rules of padding, and the same answers by it as before.
typed::Graph padded(const std::string& text) {
  const typed::Graph before = graph(text);
  Result<typed::Graph> after = apply_rules(before, padding_rules());
  EXPECT_TRUE(after.ok()) << after.error().text();
  std::vector<Value> inputs;
  for (const typed::Outlet input : before.inputs()) {
    const Fact& fact = before.fact(input);
    if (fact.type == DType::f32) {
      inputs.emplace_back(awkward(fact.dims(), 3));
      continue;
    }
    Tensor bytes = Tensor::make(fact.type, fact.dims());
    for (size_t i = 0; i < bytes.count(); ++i) bytes.data<uint8_t>()[i] = uint8_t(i * 37);
    inputs.emplace_back(std::move(bytes));
  }
  expect_same_answers(before, *after, inputs);
  return *std::move(after);
}

std::vector<std::string_view> names(const typed::Graph& graph) {
  std::vector<std::string_view> names;
  for (const typed::Node& node : graph.nodes()) {
    if (node.kind == typed::Node::Kind::op) names.push_back(node.op().name);
  }
  return names;
}
using Names = std::vector<std::string_view>;

// A Pad, by these constants, before a convolution with these attributes; weights with an infinity
// show whether the padding still takes part.
std::string conv(const std::string& constants, const std::string& pad, const std::string& attrs) {
  return R"(graph "g" {
  %x = input : f32[1,2,5,4]
  %w = f32[1,2,2,2] {1, 2, -1, 0.5, inf, 3, -2, 1}
)" + constants +
         "  %p = Pad.21 " + pad + "\n  %y = Conv.22 " + attrs + R"( (%p, %w)
  output "y" = %y
})";
}

const char* const kUneven = "  %pads = i64[8] {0, 0, 0, 1, 0, 0, 1, 2}\n";

TEST(Padding, before_a_convolution_is_the_convolution_s_own) {
  const typed::Graph made = padded(conv(kUneven, "(%x, %pads)", "{pads=[1,0,2,1]}"));
  EXPECT_EQ(names(made), Names({"Conv"}));
  EXPECT_EQ(made.nodes().back().use.ints("pads"), std::vector<int64_t>({1, 1, 3, 3}));
}

TEST(Padding, of_named_axes_before_a_convolution_that_takes_none_of_its_own) {
  EXPECT_EQ(names(padded(conv(R"(  %pads = i64[2] {1, 2}
  %zero = f32[] {0}
  %axes = i64[1] {-1}
)",
                              "(%x, %pads, %zero, %axes)", "{auto_pad=\"VALID\"}"))),
            Names({"Conv"}));
}

TEST(Padding, by_another_number_or_along_channels_or_of_less_than_nothing_stays) {
  const Names both = {"Pad", "Conv"};
  const std::string one = std::string(kUneven) + "  %c = f32[] {1}\n";
  const std::string minus = std::string(kUneven) + "  %c = f32[] {-0.0}\n";
  EXPECT_EQ(names(padded(conv(one, "(%x, %pads, %c)", "{}"))), both);
  EXPECT_EQ(names(padded(conv(minus, "(%x, %pads, %c)", "{}"))), both) << "-0 is not +0";
  EXPECT_EQ(names(padded(conv(kUneven, "{mode=\"edge\"} (%x, %pads)", "{}"))), both);
  EXPECT_EQ(names(padded(conv(kUneven, "(%x, %pads)", "{auto_pad=\"SAME_UPPER\"}"))), both);
  const char* const crop = "  %pads = i64[8] {0, 0, 0, -1, 0, 0, 1, 2}\n";
  EXPECT_EQ(names(padded(conv(crop, "(%x, %pads)", "{}"))), both);
  EXPECT_EQ(names(padded(R"(graph "g" {
  %x = input : f32[1,1,5,4]
  %w = f32[1,2,1,1] {1, 2}
  %pads = i64[8] {0, 1, 0, 0, 0, 0, 1, 0}
  %p = Pad.21 (%x, %pads)
  %y = Conv.22 (%p, %w)
  output "y" = %y
})")),
            both);
}

// Bytes are padded by their zero point.
std::string bytes(const std::string& constant) {
  return R"(graph "g" {
  %x = input : u8[1,1,3,3]
  %s = f32[] {0.5}
  %z = u8[] {7}
  %w = i8[1,1,2,2] {1, -2, 3, 4}
  %zw = i8[] {0}
  %pads = i64[8] {0, 0, 1, 1, 0, 0, 0, 1}
  %c = u8[] {)" +
         constant + R"(}
  %p = Pad.21 (%x, %pads, %c)
  %y = QLinearConv.10 (%p, %s, %z, %w, %s, %zw, %s, %z)
  output "y" = %y
})";
}

TEST(Padding, of_bytes_by_their_zero_point_is_the_convolution_s_own) {
  EXPECT_EQ(names(padded(bytes("7"))), Names({"QLinearConv"}));
  EXPECT_EQ(names(padded(bytes("0"))), Names({"Pad", "QLinearConv"}));
}

TEST(Padding, of_no_border_is_nothing) {
  EXPECT_EQ(names(padded(R"(graph "g" {
  %x = input : f32[2,3]
  %pads = i64[4] {0, 0, 0, 0}
  %p = Pad.21 {mode="reflect"} (%x, %pads)
  %y = Neg.13 (%p)
  output "y" = %y
})")),
            Names({"Neg"}));
}

}  // namespace
}  // namespace sdx::rewrite
