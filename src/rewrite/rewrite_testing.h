// What the tests of rewrites share: graphs from their text, numbers in no order, and the proof that
// a rewrite keeps every bit.
#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "rewrite/rewrite.h"
#include "typed/eval.h"
#include "typed/graph.h"
#include "typed/text.h"

namespace sdx::rewrite {

inline typed::Graph graph(std::string_view text) {
  auto parsed = typed::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return *std::move(parsed);
}

inline size_t operators(const typed::Graph& graph) {
  size_t count = 0;
  for (const typed::Node& node : graph.nodes()) count += node.kind == typed::Node::Kind::op ? 1 : 0;
  return count;
}

inline Tensor some(const Dims& dims, uint32_t seed, float scale = 0x1p-31f) {
  Tensor tensor = Tensor::make(DType::f32, dims);
  for (size_t i = 0; i < tensor.count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.data<float>()[i] = float(int32_t(seed)) * scale;
  }
  return tensor;
}

// By the references and by the kernels.
inline void expect_same_answers(const typed::Graph& before, const typed::Graph& after,
                                const std::vector<Value>& inputs) {
  EXPECT_TRUE(after.verify().ok());
  for (const bool reference : {true, false}) {
    const auto a = typed::eval(before, inputs, {.reference = reference, .isa = native_isa()});
    const auto b = typed::eval(after, inputs, {.reference = reference, .isa = native_isa()});
    ASSERT_TRUE(a.ok() && b.ok());
    for (size_t i = 0; i < a->size(); ++i) EXPECT_TRUE(equal((*a)[i], (*b)[i])) << "output " << i;
  }
}

// Values that rounding, signs and NaN would show.
inline Tensor awkward(const Dims& dims, uint32_t seed) {
  Tensor tensor = some(dims, seed, 0x1p-29f);
  if (tensor.count() > 4) {
    tensor.data<float>()[1] = -0.0f;
    tensor.data<float>()[2] = std::numeric_limits<float>::quiet_NaN();
    tensor.data<float>()[3] = std::numeric_limits<float>::infinity();
  }
  return tensor;
}

inline void expect_rewrite(const std::string& before, const std::string& after,
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

}  // namespace sdx::rewrite
