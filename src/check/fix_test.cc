#include "check/fix.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "check/check.h"
#include "check/test_models.h"

namespace sdx::check {
namespace {

using namespace test;  // NOLINT: the models are what this file is about
using model::Model;

Model fixed(const Model& m, const FixOptions& options = {}) {
  auto result = fix(m, options);
  EXPECT_TRUE(result.ok());
  return std::move(result)->model;
}

size_t errors(const Model& m, Profile profile = Profile::sonnx) {
  return check(m, {.profile = profile}).count(Severity::error);
}

TEST(Fix, dead_nodes_and_what_only_they_read_go) {
  Model m = simple();
  m.graph->initializer.push_back(weight("unread", {2, 3}));
  m.graph->node.push_back(node("Mul", {"x", "unread"}, {"a"}));
  m.graph->node.push_back(node("Neg", {"a"}, {"b"}));
  EXPECT_EQ(errors(m), 1U);
  const Model made = fixed(m);
  EXPECT_EQ(errors(made), 0U);
  EXPECT_EQ(made.graph->node.size(), 2U);
  EXPECT_EQ(made.graph->initializer.size(), 1U);
}

TEST(Fix, a_function_is_inlined_with_the_callers_attributes) {
  Model m = with_function();
  m.graph->node.push_back(node("twice", {"y"}, {"z"}));
  set(m.graph->node[1], &model::Node::domain, "local");
  m.graph->output.push_back(value("z"));
  const Model made = fixed(m);
  EXPECT_TRUE(made.functions.empty());
  EXPECT_EQ(made.opset_import.size(), 1U);
  ASSERT_EQ(made.graph->node.size(), 4U);
  EXPECT_EQ(made.graph->node[1].find("alpha")->f, 0.5F);
  EXPECT_EQ(made.graph->node[3].find("alpha"), nullptr);  // nobody gave it
  const Model full = fixed(m, {.profile = Profile::sonnx_full});
  EXPECT_EQ(full.graph->node[3].find("alpha")->f, 0.01F);  // LeakyRelu's default
  EXPECT_EQ(made.graph->node[1].output[0], "y");
  EXPECT_TRUE(check(made).diagnostics.empty());
}

TEST(Fix, nodes_are_sorted) {
  Model m = simple();
  std::swap(m.graph->node[0], m.graph->node[1]);
  EXPECT_FALSE(check(m).valid());
  EXPECT_TRUE(check(fixed(m)).valid());
}

TEST(Fix, names_become_identifiers_that_nothing_else_has) {
  Model m = simple();
  m.graph->node[0].name = m.graph->node[1].name = "a/b";
  m.graph->node[0].output[0] = m.graph->node[1].input[0] = "s/1";
  m.graph->node.push_back(node("Neg", {"y"}, {"s_1"}));
  m.graph->output.push_back(value("s_1"));
  const Model made = fixed(m);
  EXPECT_EQ(made.graph->node[0].name, "a_b");
  EXPECT_EQ(made.graph->node[1].name, "a_b_2");
  EXPECT_EQ(made.graph->node[0].output[0], "s_1_2");
  EXPECT_EQ(made.graph->node[1].input[0], "s_1_2");
  EXPECT_EQ(made.graph->output[1].name, "s_1");
  EXPECT_EQ(errors(made), 0U);
}

TEST(Fix, an_output_that_nobody_reads_is_left_out_if_it_is_optional) {
  Model m = one("Dropout", {}, {});
  m.graph->node[0].output = {"y", "mask"};
  EXPECT_EQ(errors(m), 1U);
  const Model made = fixed(m);
  EXPECT_EQ(made.graph->node[0].output, std::vector<std::string>{"y"});
  EXPECT_EQ(errors(made), 0U);
}

TEST(Fix, an_input_reaches_an_output_through_an_operation) {
  Model m = simple();
  m.graph->output.push_back(value("x"));
  EXPECT_EQ(errors(m), 1U);
  EXPECT_EQ(fixed(m).graph->output[1].name, "x");
  EXPECT_EQ(errors(fixed(m, {.rename = true})), 0U);
}

TEST(Fix, inputs_and_outputs_keep_their_names_unless_told) {
  Model m = simple();
  m.graph->input[0].name = m.graph->node[0].input[0] = "in/x";
  EXPECT_EQ(fixed(m).graph->input[0].name, "in/x");
  EXPECT_EQ(fixed(m).graph->node[0].input[0], "in/x");
  EXPECT_EQ(fixed(m, {.rename = true}).graph->input[0].name, "in_x");
}

TEST(Fix, onnx_asks_for_order_and_nothing_more) {
  Model m = simple();
  m.graph->node[0].name = "a/b";
  m.graph->node.push_back(node("Neg", {"y"}, {"unread"}));
  std::swap(m.graph->node[0], m.graph->node[1]);
  const Model made = fixed(m, {.profile = Profile::onnx});
  EXPECT_TRUE(check(made).valid());
  EXPECT_EQ(made.graph->node.size(), 3U);
  EXPECT_EQ(made.graph->node[0].name, "a/b");
}

TEST(Fix, defaults_are_stated) {
  const Model m = one("LeakyRelu", {}, {});
  EXPECT_EQ(errors(m, Profile::sonnx_full), 1U);
  EXPECT_EQ(errors(fixed(m, {.profile = Profile::sonnx_full}), Profile::sonnx_full), 0U);
}

TEST(Fix, a_model_that_needs_nothing_is_left_alone) {
  const auto result = fix(with_loop());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->journal, std::vector<std::string>{});
}

}  // namespace
}  // namespace sdx::check
