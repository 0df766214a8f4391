#include "plan/binder.h"

#include <gtest/gtest.h>

namespace sdx::plan {
namespace {

Value floats(Dims dims) { return Tensor::make(DType::f32, std::move(dims)); }

Fact open(Shape shape) { return Fact::tensor(DType::f32, std::move(shape)); }

const Dim kN = Dim::symbol("N"), kM = Dim::symbol("M");

// Its inputs: rows of three, and twice as many numbers and one.
typed::Graph two_inputs() {
  typed::Graph graph;
  graph.source("rows", open({kN, 3}));
  graph.source("more", open({kN * 2 + 1}));
  return graph;
}

TEST(Binder, a_symbol_has_one_size_in_all_inputs) {
  const typed::Graph graph = two_inputs();
  const Binder binder(graph);
  const std::vector<Value> inputs = {floats({4, 3}), floats({9})};
  const auto bindings = binder.bind(graph, inputs);
  ASSERT_TRUE(bindings);
  EXPECT_EQ(*bindings, (Bindings{{"N", 4}}));
  const OpenInputs now = binder.open_inputs(graph, {{"N", 5}});
  ASSERT_EQ(now.size(), 2U);
  EXPECT_EQ(now[0].second.text(), "f32[5,3]");
  EXPECT_EQ(now[1].first, 1U);
  EXPECT_EQ(now[1].second.text(), "f32[11]");
}

TEST(Binder, what_does_not_fit_is_named_with_what_it_is_held_against) {
  const typed::Graph graph = two_inputs();
  const Binder binder(graph);
  const auto refused = [&](Value rows, Value more) {
    const std::vector<Value> inputs = {std::move(rows), std::move(more)};
    const auto bindings = binder.bind(graph, inputs);
    return bindings ? std::string() : bindings.error().code + " " + bindings.error().what;
  };
  EXPECT_NE(refused(floats({4, 3}), floats({8}))
                .find("dimension 0 is 8, not 9 (N = 4 by input \"rows\" dimension 0)"),
            std::string::npos);
  EXPECT_NE(refused(floats({4, 2}), floats({9})).find("dimension 1 is 2, not 3"),
            std::string::npos);
  EXPECT_NE(refused(floats({4}), floats({9})).find("the rank differs"), std::string::npos);
  EXPECT_NE(refused(Tensor::make(DType::i64, {4, 3}), floats({9})).find("the element type differs"),
            std::string::npos);
  EXPECT_TRUE(binder.bind(graph, std::vector<Value>{floats({4, 3})}).error().code == "SDX-R0010");
}

// Facts say more than one symbol for each size: then they are asked.
TEST(Binder, sizes_of_several_symbols_are_bound_by_facts) {
  typed::Graph graph;
  graph.source("product", open({kN * kM}));
  graph.source("rows", open({kN}));
  graph.source("fixed", open({7}));
  const Binder binder(graph);
  const std::vector<Value> inputs = {floats({12}), floats({4}), floats({7})};
  const auto bindings = binder.bind(graph, inputs);
  ASSERT_TRUE(bindings);
  EXPECT_EQ(bindings->at("N"), 4);
  const OpenInputs now = binder.open_inputs(graph, *bindings);
  ASSERT_EQ(now.size(), 2U);  // the third is what it is
  EXPECT_EQ(now[0].second.text(), "f32[12]");
  EXPECT_EQ(now[1].second.text(), "f32[4]");
}

TEST(Binder, a_size_that_no_number_of_the_symbol_gives_is_bound_as_it_stands) {
  typed::Graph graph;
  graph.source("odd", open({kN * 2 + 1}));
  const Binder binder(graph);
  const std::vector<Value> inputs = {floats({8})};
  const auto bindings = binder.bind(graph, inputs);
  ASSERT_TRUE(bindings);
  ASSERT_EQ(bindings->size(), 1U);
  EXPECT_EQ(bindings->begin()->first.front(), '=');
  EXPECT_EQ(binder.open_inputs(graph, *bindings)[0].second.text(), "f32[8]");
}

}  // namespace
}  // namespace sdx::plan
