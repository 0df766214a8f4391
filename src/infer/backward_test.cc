// FEATURES T3: partial facts, inferred forwards and backwards.
#include <gtest/gtest.h>

#include "infer/test_infer.h"

namespace sdx::infer::test {
namespace {

const model::ValueInfo kOpen = declared("x", DType::undefined);

model::Model chain(std::vector<model::Node> nodes, std::vector<model::TensorData> weights,
                   model::ValueInfo x = kOpen) {
  const std::string last = nodes.back().output[0];
  model::Model m = with_graph({std::move(x)}, std::move(nodes), {declared(last, DType::undefined)});
  m.graph->initializer = std::move(weights);
  return m;
}

TEST(Backward, a_gemm_gives_its_input_type_rank_and_features) {
  const auto known = infer_model(chain({node("Gemm", {"x", "w"}, {"y"})}, {weight("w", {5, 7})}));
  EXPECT_EQ(fact_in(known, "x"), "f32[?x.0,5]");
  EXPECT_EQ(fact_in(known, "y"), "f32[?x.0,7]");
}

TEST(Backward, a_transposed_gemm_reads_the_other_dimension) {
  const auto known = infer_model(
      chain({node("Gemm", {"x", "w"}, {"y"}, {integer("transB", 1)})}, {weight("w", {5, 7})}));
  EXPECT_EQ(fact_in(known, "x"), "f32[?x.0,7]");
}

TEST(Backward, a_convolution_gives_rank_and_channels_through_what_stands_before_it) {
  const auto known = infer_model(chain(
      {node("Relu", {"x"}, {"r"}), node("Sigmoid", {"r"}, {"s"}), node("Conv", {"s", "w"}, {"y"})},
      {weight("w", {8, 3, 3, 3})}));
  EXPECT_EQ(fact_in(known, "x"), "f32[?x.0,3,?x.2,?x.3]");
  EXPECT_EQ(fact_in(known, "y"), "f32[?x.0,8,?x.2-2,?x.3-2]");
}

TEST(Backward, a_grouped_convolution_has_as_many_channels_as_groups_times_kernel_channels) {
  const auto known = infer_model(
      chain({node("Conv", {"x", "w"}, {"y"}, {integer("group", 4)})}, {weight("w", {8, 2, 3, 3})}));
  EXPECT_EQ(fact_in(known, "x"), "f32[?x.0,8,?x.2,?x.3]");
}

TEST(Backward, a_matmul_gives_the_last_dimension_once_the_rank_is_known) {
  const auto known = infer_model(chain({node("MatMul", {"x", "w"}, {"y"})}, {weight("w", {6, 2})},
                                       declared("x", DType::f32, {{"N", "", ""}})));
  // Open sizes of a known rank are learnt on request.
  EXPECT_EQ(fact_in(known, "x"), "f32[N,?x.1,?x.2]");
  Options thorough;
  thorough.thorough = true;
  const auto all = infer_model(chain({node("MatMul", {"x", "w"}, {"y"})}, {weight("w", {6, 2})},
                                     declared("x", DType::f32, {{"N", "", ""}})),
                               thorough);
  EXPECT_EQ(fact_in(all, "x"), "f32[N,?x.1,6]");
}

TEST(Backward, a_transpose_gives_the_rank_and_a_declared_output_the_sizes) {
  model::Model m =
      with_graph({kOpen}, {node("Transpose", {"x"}, {"y"}, {integers("perm", {2, 0, 1})})},
                 {declared("y", DType::f32, {{"4", "N", "2"}})});
  EXPECT_EQ(fact_in(infer_model(m), "x"), "f32[N,2,4]");
}

TEST(Backward, a_concat_gives_rank_and_the_sizes_that_must_agree) {
  model::Model m = with_graph({kOpen}, {node("Concat", {"x", "w"}, {"y"}, {integer("axis", 1)})},
                              {declared("y", DType::f32, {{"2", "10"}})});
  m.graph->initializer = {weight("w", {2, 4})};
  EXPECT_EQ(fact_in(infer_model(m), "x"), "f32[2,6]");
}

TEST(Backward, normalisations_give_channels) {
  const auto known =
      infer_model(chain({node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"n"}),
                         node("Transpose", {"n"}, {"y"}, {integers("perm", {0, 2, 3, 1})})},
                        {weight("s", {5}), weight("b", {5}), weight("m", {5}), weight("v", {5})},
                        declared("x", DType::f32)));
  EXPECT_EQ(fact_in(known, "x"), "f32[?x.0,5,?x.2,?x.3]");
}

TEST(Backward, a_reshape_gives_the_one_size_that_is_missing) {
  model::Model m =
      with_graph({declared("x", DType::f32, {{"", "4", "3"}})},
                 {node("Reshape", {"x", "to"}, {"y"})}, {declared("y", DType::f32, {{"6", "4"}})});
  m.graph->initializer = {shape_weight("to", {6, 4})};
  Options thorough;
  thorough.thorough = true;
  EXPECT_EQ(fact_in(infer_model(m, thorough), "x"), "f32[2,4,3]");
}

TEST(Backward, a_broadcast_decides_nothing) {
  model::Model m = with_graph({declared("x", DType::f32, {{"", ""}})},
                              {node("Add", {"x", "w"}, {"y"})}, {declared("y", DType::f32)});
  m.graph->initializer = {weight("w", {2, 3})};
  Options thorough;
  thorough.thorough = true;
  EXPECT_EQ(fact_in(infer_model(m, thorough), "x"), "f32[?x.0,?x.1]");
}

TEST(Backward, a_size_that_need_only_be_divisible_stays_open) {
  model::Model m = with_graph({declared("x", DType::f32, {{"1", "", "2", "2"}})},
                              {node("DepthToSpace", {"x"}, {"y"}, {integer("blocksize", 2)})},
                              {declared("y", DType::f32)});
  Options thorough;
  thorough.thorough = true;
  EXPECT_EQ(fact_in(infer_model(m, thorough), "x"), "f32[1,?x.1,2,2]");
}

TEST(Backward, indices_of_a_gather_get_their_rank_from_the_output) {
  model::Model m = with_graph({declared("x", DType::i64)}, {node("Gather", {"w", "x"}, {"y"})},
                              {declared("y", DType::f32, {{"N", "T", "8"}})});
  m.graph->initializer = {weight("w", {100, 8})};
  EXPECT_EQ(fact_in(infer_model(m), "x"), "i64[N,T]");
}

TEST(Backward, a_subgraph_says_what_it_needs_of_outer_values) {
  const auto branch = [](const std::string& name, const std::string& out) {
    model::Graph g;
    set(g, &model::Graph::name, name);
    g.output.push_back(declared(out, DType::undefined));
    g.node.push_back(node("Gemm", {"x", name + "_w"}, {out}));
    g.initializer.push_back(weight(name + "_w", {5, 7}));
    return g;
  };
  model::Model m = with_graph(
      {kOpen, declared("c", DType::boolean, std::vector<std::string>{})},
      {node("If", {"c"}, {"y"},
            {body("then_branch", branch("then", "t")), body("else_branch", branch("else", "e"))})},
      {declared("y", DType::undefined)});
  EXPECT_EQ(fact_in(infer_model(m), "x"), "f32[?x.0,5]");
}

TEST(Backward, branches_that_disagree_leave_a_size_open) {
  const auto branch = [](const std::string& name, const std::string& out, int64_t features) {
    model::Graph g;
    set(g, &model::Graph::name, name);
    g.output.push_back(declared(out, DType::undefined));
    g.node.push_back(node("Gemm", {"x", name + "_w"}, {out}));
    g.initializer.push_back(weight(name + "_w", {features, 7}));
    return g;
  };
  model::Model m = with_graph({kOpen, declared("c", DType::boolean, std::vector<std::string>{})},
                              {node("If", {"c"}, {"y"},
                                    {body("then_branch", branch("then", "t", 5)),
                                     body("else_branch", branch("else", "e", 6))})},
                              {declared("y", DType::undefined)});
  EXPECT_EQ(fact_in(infer_model(m), "x"), "f32[?x.0,?x.1]");
}

TEST(Backward, two_nodes_that_require_different_sizes_are_both_named) {
  model::Node first = node("Gemm", {"x", "v"}, {"a"}), second = node("Gemm", {"x", "w"}, {"b"});
  set(first, &model::Node::name, "one");
  set(second, &model::Node::name, "two");
  model::Model m =
      with_graph({kOpen}, {first, second}, {declared("a", DType::f32), declared("b", DType::f32)});
  m.graph->initializer = {weight("v", {5, 7}), weight("w", {6, 7})};
  const auto known = infer_model(m);
  ASSERT_FALSE(known);
  const std::string text = known.error().text();
  EXPECT_NE(text.find("\"one\" (Gemm"), std::string::npos) << text;
  EXPECT_NE(text.find("\"two\" (Gemm"), std::string::npos) << text;
}

TEST(Backward, reasons_are_explained_step_by_step) {
  Options thorough;
  thorough.thorough = true;
  model::Model m =
      chain({node("Relu", {"x"}, {"r"}), node("Gemm", {"r", "w"}, {"y"})}, {weight("w", {5, 7})});
  const auto known = infer_model(m, thorough);
  ASSERT_TRUE(known) << known.error().text();
  const auto text = known->explain("x");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("dimension 1 is 5"), std::string::npos) << *text;
  EXPECT_NE(text->find("\"x\": required by node (Relu)\n    \"r\": required by node (Gemm), beside "
                       "\"w\" f32[5,7]\n"),
            std::string::npos)
      << *text;
  const auto made = known->explain("y");
  ASSERT_TRUE(made);
  EXPECT_NE(made->find("\"y\": made by node (Gemm) from dimension 1 of \"w\""), std::string::npos)
      << *made;
  EXPECT_FALSE(known->explain("nothing"));
}

TEST(Backward, the_summary_counts_what_is_open) {
  Options thorough;
  thorough.thorough = true;
  const auto known =
      infer_model(chain({node("Gemm", {"x", "w"}, {"y"})}, {weight("w", {5, 7})}), thorough);
  ASSERT_TRUE(known);
  const Summary summary = known->summary();
  EXPECT_EQ(summary.wires, 2u);
  EXPECT_EQ(summary.open_types + summary.open_ranks, 0u);
  EXPECT_EQ(summary.symbolic_dims, 2u);
  EXPECT_EQ(summary.fresh, std::vector<std::string>{"?x.0"});
}

}  // namespace
}  // namespace sdx::infer::test
