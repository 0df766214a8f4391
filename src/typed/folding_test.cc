// Folding is bounded by work, for one node and for all.
#include "typed/folding.h"

#include <gtest/gtest.h>

#include "ops/list.h"
#include "typed/graph.h"

namespace sdx::typed {
namespace {

sdx::Node use_of(std::string_view name, int opset, AttrMap attrs = {}) {
  sdx::Node use;
  use.op = find_op("", name);
  use.opset = opset;
  use.attrs = std::move(attrs);
  use.wanted = {true};
  return use;
}

bool folds(Graph& graph, sdx::Node use, std::vector<Outlet> inputs) {
  const auto made = graph.add(std::move(use), std::move(inputs));
  EXPECT_TRUE(made.ok()) << made.error().text();
  return made.ok() && graph.node((*made)[0].node).kind == Node::Kind::constant;
}

TEST(Folding, a_view_of_a_constant_shares_its_memory_whatever_its_size) {
  Graph graph;
  const Tensor large = Tensor::make(DType::f32, {8192, 1024});
  const Outlet x = graph.constant(large);
  const auto list = [&](std::initializer_list<int64_t> values) {
    return graph.constant(Tensor::of<int64_t>({int64_t(values.size())}, values));
  };
  const auto value_of = [&](std::string_view name, std::vector<Outlet> inputs) {
    const auto made = graph.add(use_of(name, 13), std::move(inputs));
    EXPECT_TRUE(made.ok());
    return graph.fact((*made)[0]).value;
  };
  const Budget::Scope scope;
  ASSERT_TRUE(Budget::open()->take_bytes(Budget::kBytes));  // none is needed
  const auto reshaped = value_of("Reshape", {x, list({4096, 2048})});
  ASSERT_NE(reshaped, nullptr);
  EXPECT_EQ(reshaped->raw(), large.raw());
  const auto rows = value_of("Slice", {x, list({100}), list({5000}), list({0})});
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->data<float>(), large.data<float>() + 100 * 1024);
  EXPECT_EQ(rows->dims(), (Dims{4900, 1024}));
  EXPECT_EQ(value_of("Slice", {x, list({1}), list({1000}), list({1})}), nullptr);  // no view
}

TEST(Folding, a_product_of_many_letters_is_left_to_the_run) {
  Graph graph;
  const Outlet few = graph.constant(Tensor::make(DType::f32, {4}));
  const Outlet many = graph.constant(Tensor::make(DType::f32, {1000}));
  const std::string sum = "a,b,c,d->";
  EXPECT_TRUE(folds(graph, use_of("Einsum", 12, {{"equation", sum}}), {few, few, few, few}));
  EXPECT_FALSE(folds(graph, use_of("Einsum", 12, {{"equation", sum}}), {many, many, many, many}));
}

TEST(Folding, a_window_as_large_as_a_number_is_left_to_the_run) {
  Graph graph;
  const Outlet x = graph.constant(Tensor::make(DType::f32, {1, 1, 4}));
  const auto pool = [](int64_t kernel) {
    return use_of("MaxPool", 12,
                  {{"kernel_shape", std::vector<int64_t>{kernel}},
                   {"pads", std::vector<int64_t>{kernel - 1, kernel - 1}}});
  };
  EXPECT_TRUE(folds(graph, pool(2), {x}));
  EXPECT_FALSE(folds(graph, pool(1'000'000'000), {x}));
}

TEST(Folding, weights_are_turned_as_often_as_the_model_warrants) {
  const Budget::Scope scope;
  Graph graph;
  const Outlet w = graph.constant(Tensor::make(DType::f32, {1024, 1024}));
  const auto turn = use_of("Transpose", 13, {{"perm", std::vector<int64_t>{1, 0}}});
  EXPECT_TRUE(folds(graph, turn, {w}));
  size_t folded = 0;
  for (int i = 0; i < 200; ++i) folded += folds(graph, turn, {w}) ? 1 : 0;
  EXPECT_LT(folded, 20U) << "64 MiB in all";
  Budget::open()->grant_bytes(size_t{1} << 30);
  EXPECT_TRUE(folds(graph, turn, {w}));
}

TEST(Folding, strings_count_by_their_length) {
  Graph graph;
  const Outlet words = graph.constant(Tensor::of<std::string>({1}, {std::string(2 << 20, 'x')}));
  const Outlet word = graph.constant(Tensor::of<std::string>({1}, {"x"}));
  EXPECT_TRUE(folds(graph, use_of("StringConcat", 20), {word, word}));
  EXPECT_FALSE(folds(graph, use_of("StringConcat", 20), {words, words}));
}

}  // namespace
}  // namespace sdx::typed
