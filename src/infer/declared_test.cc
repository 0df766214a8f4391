// FEATURES O6, O9, O10, O11, O12, T5: what declarations say, and what becomes of it.
#include <gtest/gtest.h>

#include "infer/test_infer.h"

namespace sdx::infer::test {
namespace {

Options thorough() {
  Options options;
  options.thorough = true;
  return options;
}

TEST(Defaults, an_input_with_an_initializer_is_a_constant_unless_it_is_overridden) {
  model::Model m = simple();
  m.graph->input.push_back(value("w"));
  const auto constant = infer_model(m);
  ASSERT_TRUE(constant) << constant.error().text();
  EXPECT_EQ(constant->graph().inputs().size(), 1u);
  Options options;
  options.overridden = {"w"};
  const auto given = infer_model(m, options);
  ASSERT_TRUE(given) << given.error().text();
  EXPECT_EQ(given->graph().inputs().size(), 2u);
}

TEST(Optional, inputs_left_out_at_the_end_or_in_the_middle) {
  model::Model m =
      with_graph({value("x")}, {node("Clip", {"x"}, {"a"}), node("Clip", {"x", "", "top"}, {"b"})},
                 {value("a"), value("b")});
  m.graph->initializer.push_back(weight("top", {}));
  const auto known = infer_model(m);
  EXPECT_EQ(fact_in(known, "a"), "f32[2,3]");
  EXPECT_EQ(fact_in(known, "b"), "f32[2,3]");
}

TEST(Optional, outputs_that_nobody_names_are_absent) {
  model::Model m = with_graph({value("x", DType::f32, {1, 1, 4, 4})},
                              {node("MaxPool", {"x"}, {"y"}, {integers("kernel_shape", {2, 2})}),
                               node("Dropout", {"y"}, {"d", ""})},
                              {declared("d", DType::f32, {{"1", "1", "3", "3"}})});
  const auto known = infer_model(m);
  ASSERT_TRUE(known) << known.error().text();
  const typed::Outlet d = known->wires().find("d")->second;
  const typed::Node& dropout = known->graph().node(d.node);
  ASSERT_EQ(dropout.outputs.size(), 2u);
  EXPECT_FALSE(dropout.outputs[1].present());
}

TEST(Variadic, any_number_of_inputs) {
  model::Model m = with_graph({value("x"), value("y"), value("z")},
                              {node("Max", {"x", "y", "z"}, {"m"})}, {value("m")});
  EXPECT_EQ(fact_in(infer_model(m), "m"), "f32[2,3]");
}

TEST(Subgraph, uses_outer_names_at_any_depth) {
  EXPECT_EQ(fact_in(infer_model(with_if()), "y"), "f32[2,3]");
}

TEST(Subgraph, must_not_shadow_an_outer_name) {
  model::Model m = with_if();
  model::Graph& inner = *m.graph->node[0].attribute[0].g;
  inner.node[0].output[0] = inner.output[0].name = "c";
  const auto known = infer_model(m);
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, "SDX-K0212") << known.error().text();
}

TEST(ValueInfo, a_stale_one_is_a_warning_with_both_sides) {
  model::Model m = simple();
  m.graph->value_info.push_back(value("s", DType::f32, {2, 4}));
  const auto known = infer_model(m, thorough());
  ASSERT_TRUE(known) << known.error().text();
  ASSERT_EQ(known->stale().size(), 1u);
  const check::Diagnostic& d = known->stale()[0];
  EXPECT_EQ(d.code, "SDX-T0920");
  EXPECT_EQ(d.severity, check::Severity::warning);
  EXPECT_EQ(d.message,
            "value_info says that \"s\" is f32[2,4]; the model computes f32[2,3]: dimension 1 is 4 "
            "against 3");
  EXPECT_EQ(d.inputs[1], "computed = f32[2,3]  node (Add)");
  EXPECT_EQ(fact_in(known, "y"), "f32[2,3]");
}

TEST(ValueInfo, the_rank_of_an_output_is_compared_too) {
  model::Model m = simple();
  m.graph->output[0] = value("y", DType::f32, {6});
  const auto known = infer_model(m, thorough());
  ASSERT_TRUE(known) << known.error().text();
  ASSERT_EQ(known->stale().size(), 1u);
  EXPECT_EQ(known->stale()[0].severity, check::Severity::error);
}

TEST(ValueInfo, another_element_type_is_refused) {
  model::Model m = simple();
  m.graph->value_info.push_back(value("s", DType::f16, {2, 3}));
  const auto known = infer_model(m, thorough());
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, "SDX-K0315");
}

TEST(ValueInfo, one_that_agrees_is_no_warning) {
  model::Model m = simple();
  m.graph->value_info.push_back(declared("s", DType::f32, {{"N", ""}}));
  const auto known = infer_model(m, thorough());
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->stale().empty());
}

TEST(ValueInfo, gives_the_rank_where_the_node_cannot) {
  // The target of the Reshape is an input: only the declaration tells how many dimensions come out.
  model::Model m = with_graph({value("x"), declared("to", DType::i64, {{"K"}})},
                              {node("Reshape", {"x", "to"}, {"r"}), node("Relu", {"r"}, {"y"})},
                              {declared("y", DType::f32, {{"", "", ""}})});
  const auto known = infer_model(m);
  ASSERT_TRUE(known) << known.error().text();
  EXPECT_EQ(known->graph().fact(known->wires().find("r")->second).rank(), 3u);
}

TEST(Symbols, one_name_is_one_size_everywhere) {
  model::Model m =
      with_graph({declared("a", DType::f32, {{"K", "M"}}), declared("b", DType::f32, {{"M", "N"}})},
                 {node("MatMul", {"a", "b"}, {"y"})}, {declared("y", DType::f32)});
  EXPECT_EQ(fact_in(infer_model(m), "y"), "f32[K,N]");
}

TEST(Symbols, the_empty_name_and_the_star_are_sizes_of_their_own) {
  model::Model m =
      with_graph({declared("a", DType::f32, {{"", "*"}}), declared("b", DType::f32, {{"*", ""}})},
                 {node("MatMul", {"a", "b"}, {"y"})}, {declared("y", DType::f32)});
  const auto known = infer_model(m);
  EXPECT_EQ(fact_in(known, "a"), "f32[?a.0,?a.1]");
  EXPECT_EQ(fact_in(known, "y"), "f32[?a.0,?b.1]");
}

TEST(Symbols, a_scalar_is_not_an_absent_shape) {
  model::Model m = with_graph({declared("a", DType::f32, std::vector<std::string>{})},
                              {node("Relu", {"a"}, {"y"})}, {declared("y", DType::f32)});
  EXPECT_EQ(fact_in(infer_model(m), "y"), "f32[]");
  m = with_graph({declared("a", DType::f32)}, {node("Relu", {"a"}, {"y"})},
                 {declared("y", DType::f32)});
  EXPECT_EQ(fact_in(infer_model(m), "y"), "f32[..]");
}

TEST(Symbols, sizes_go_through_a_network_as_expressions) {
  model::Model m = with_graph({declared("x", DType::f32, {{"N", "3", "H", "W"}})},
                              {node("Conv", {"x", "w"}, {"c"},
                                    {integers("strides", {2, 2}), integers("pads", {1, 1, 1, 1})}),
                               node("Flatten", {"c"}, {"y"})},
                              {declared("y", DType::f32)});
  m.graph->initializer.push_back(weight("w", {8, 3, 3, 3}));
  const auto known = infer_model(m);
  EXPECT_EQ(fact_in(known, "c"), "f32[N,8,floor((H+1)/2),floor((W+1)/2)]");
  EXPECT_EQ(fact_in(known, "y"), "f32[N,8*floor((H+1)/2)*floor((W+1)/2)]");
  Options asserted;
  asserted.assertions = {"H%32==0", "W%32==0"};
  EXPECT_EQ(fact_in(infer_model(m, asserted), "c"), "f32[N,8,floor(H/2),floor(W/2)]");
}

TEST(Symbols, shape_arithmetic_is_done_on_expressions) {
  // y = Reshape(x, [Shape(x)[0], -1]) with x [N,4,T].
  model::Model m = with_graph({declared("x", DType::f32, {{"N", "4", "T"}})},
                              {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
                               node("Concat", {"n", "rest"}, {"to"}, {integer("axis", 0)}),
                               node("Reshape", {"x", "to"}, {"y"})},
                              {declared("y", DType::f32)});
  m.graph->initializer = {shape_weight("zero", {0}), shape_weight("rest", {-1})};
  EXPECT_EQ(fact_in(infer_model(m), "y"), "f32[N,4*T]");
}

TEST(Symbols, an_equality_that_a_product_needs_is_learnt) {
  model::Model m =
      with_graph({declared("a", DType::f32, {{"N", "K"}}), declared("b", DType::f32, {{"M", "P"}}),
                  declared("c", DType::f32, {{"K"}})},
                 {node("MatMul", {"a", "b"}, {"y"}), node("Relu", {"c"}, {"z"})},
                 {declared("y", DType::f32), declared("z", DType::f32)});
  const auto known = infer_model(m);
  ASSERT_TRUE(known) << known.error().text();
  EXPECT_EQ(fact_in(known, "z"), "f32[M]");  // K == M from here on
}

TEST(Symbols, data_dependent_sizes_are_symbols_of_their_own) {
  model::Model m =
      with_graph({value("x")}, {node("NonZero", {"x"}, {"i"}), node("Shape", {"i"}, {"y"})},
                 {declared("i", DType::i64), declared("y", DType::i64)});
  const auto known = infer_model(m);
  ASSERT_TRUE(known) << known.error().text();
  const Fact& fact = known->graph().fact(known->wires().find("i")->second);
  EXPECT_EQ(fact.dim(0).value(), 2);
  EXPECT_FALSE(fact.dim(1).is_const());
}

}  // namespace
}  // namespace sdx::infer::test
