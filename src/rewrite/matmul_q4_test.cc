#include <gtest/gtest.h>

#include "rewrite/rules.h"
#include "typed/text.h"

namespace sdx::rewrite {
namespace {

// The graph after the rule alone; large constants are the table's.
std::string after(const std::string& text, const typed::TextTable& table) {
  const Result<typed::Graph> graph = typed::parse(text, table);
  if (!graph) return graph.error().text();
  const Rule rules[] = {matmul_q4};
  const Result<typed::Graph> made = apply_rules(*graph, rules);
  if (!made) return made.error().text();
  typed::TextTable again;
  return typed::print(*made, &again);
}

// Large enough not to be folded.
typed::TextTable weights() {
  typed::TextTable table;
  table.tensors.push_back(Tensor::make(DType::u4, {70, 40}));
  table.tensors.push_back(Tensor::make(DType::f32, {3, 40}));
  table.tensors.push_back(Tensor::make(DType::u4, {3, 40}));
  return table;
}

TEST(MatMulQ4Rule, a_product_reads_the_4_bit_weights) {
  EXPECT_EQ(after(R"(graph "main" {
  %x = input : f32[N,70]
  %1 = <u4[70,40] #0>
  %2 = <f32[3,40] #1>
  %3 = <u4[3,40] #2>
  %4 = DequantizeLinear.21 {axis=0, block_size=32} (%1, %2, %3) : f32[70,40]
  %5 = MatMul.13 (%x, %4) : f32[N,40] "product"
  output "y" = %5
}
)",
                  weights()),
            R"(graph "main" {
  %x = input : f32[N,70]
  %1 = <u4[70,40] #0>
  %2 = <f32[3,40] #1>
  %3 = <u4[3,40] #2>
  %4 = sardonyx::MatMulQ4.1 {block_size=32} (%x, %1, %2, %3) : f32[N,40] "product"
  output "y" = %4
}
)");
}

TEST(MatMulQ4Rule, weights_that_somebody_else_reads_stay) {
  const std::string both = R"(graph "main" {
  %x = input : f32[N,70]
  %1 = <u4[70,40] #0>
  %2 = <f32[3,40] #1>
  %3 = <u4[3,40] #2>
  %4 = DequantizeLinear.21 {axis=0, block_size=32} (%1, %2, %3) : f32[70,40]
  %5 = MatMul.13 (%x, %4) : f32[N,40]
  output "y" = %5
  output "w" = %4
}
)";
  EXPECT_EQ(after(both, weights()), both);
}

TEST(MatMulQ4Rule, blocks_along_the_other_axis_stay) {
  typed::TextTable table = weights();
  table.tensors[1] = Tensor::make(DType::f32, {70, 2});
  table.tensors.pop_back();
  const std::string columns = R"(graph "main" {
  %x = input : f32[N,70]
  %1 = <u4[70,40] #0>
  %2 = <f32[70,2] #1>
  %3 = DequantizeLinear.21 {block_size=32} (%1, %2) : f32[70,40]
  %4 = MatMul.13 (%x, %3) : f32[N,40]
  output "y" = %4
}
)";
  EXPECT_EQ(after(columns, table), columns);
}

}  // namespace
}  // namespace sdx::rewrite
