#include "check/accept/accept.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "check/check.h"
#include "check/fix.h"
#include "check/test_models.h"

namespace sdx::check {
namespace {

using namespace test;  // NOLINT: the models are what this file is about
using model::Model;

Result<Checked> taken(const Model& m, Accept accept = Accept::common) {
  return checked(std::make_shared<const Model>(m), {.open_types = true, .accept = accept});
}

Model shadowed() {
  Model m = with_if();
  model::Graph& then = *m.graph->node[0].attribute[0].g;
  then.node[0].output[0] = "x_twice";
  then.output[0] = value("x");
  then.node.push_back(node("Neg", {"x_twice"}, {"x"}));
  then.node[0].input = {"c_is_unused", "c_is_unused"};
  then.initializer.push_back(weight("c_is_unused", {2, 3}));
  return m;
}

// y = Relu(x + c), where two Constants are called c.
Model constants_of_one_name() {
  Model m = simple();
  m.graph->initializer.clear();
  const auto constant = [](float x) {
    return node("Constant", {}, {"w"}, {tensor("value", Tensor::of<float>({1}, {x}))});
  };
  m.graph->node.insert(m.graph->node.begin(), constant(1));
  m.graph->node.push_back(constant(2));
  return m;
}

// A model that breaks the rule in the way that its reading is about, by code.
std::map<std::string_view, std::function<Model()>> deviating() {
  return {
      {rule::ir_version.code,
       [] {
         Model m = simple();
         m.ir_version = 0;
         m.present = 0;
         return m;
       }},
      {rule::opset_missing.code,
       [] {
         Model m = simple();
         set(m, &Model::ir_version, 2);
         m.graph->input.push_back(value("w"));
         return m;
       }},
      {rule::newer_feature.code,
       [] {
         Model m = with_function();
         set(m, &Model::ir_version, 6);
         return m;
       }},
      {rule::initializer_not_input.code,
       [] {
         Model m = simple();
         set(m, &Model::ir_version, 3);
         return m;
       }},
      {rule::opset_conflict.code,
       [] {
         Model m = simple();
         m.opset_import.push_back(import("ai.onnx", 0));
         return m;
       }},
      {rule::opset_version.code,
       [] {
         Model m = simple();
         m.opset_import.insert(m.opset_import.begin(), import("", 0));
         return m;
       }},
      {rule::metadata_repeated.code,
       [] {
         Model m = simple();
         m.metadata_props = {entry("k", "1"), entry("k", "2")};
         return m;
       }},
      {rule::domain_not_imported.code,
       [] {
         Model m = one("QuickGelu", {}, {});
         set(m.graph->node[0], &model::Node::domain, "com.microsoft");
         return m;
       }},
      {rule::graph_name.code,
       [] {
         Model m = with_if();
         m.graph->name.clear();
         m.graph->node[0].attribute[0].g->name.clear();
         return m;
       }},
      {rule::order.code,
       [] {
         Model m = simple();
         std::swap(m.graph->node[0], m.graph->node[1]);
         return m;
       }},
      {rule::shadowing.code, shadowed},
      {rule::single_assignment.code, constants_of_one_name},
      {rule::output_repeated.code,
       [] {
         Model m = simple();
         m.graph->output.push_back(value("y", DType::f32, {2, 3, 2, 3}));
         return m;
       }},
      {rule::body_scalars.code,
       [] {
         Model m = with_loop();
         model::Graph& body = *m.graph->node[0].attribute[0].g;
         body.input[0] = value("i", DType::i64, {1});
         body.node.push_back(node("Squeeze", {"i"}, {"i_scalar"}));
         return m;
       }},
      {rule::value_info_repeated.code,
       [] {
         Model m = simple();
         m.graph->value_info = {value("s"), value("s", DType::f32, {9})};
         return m;
       }},
      {rule::value_info_conflict.code,
       [] {
         Model m = simple();
         m.graph->value_info = {value("w", DType::f16)};
         return m;
       }},
      {rule::output_type.code,
       [] {
         Model m = simple();
         m.graph->value_info = {value("s", DType::f16)};
         return m;
       }},
      {rule::no_outputs.code,
       [] {
         Model m = simple();
         m.graph->node.push_back(node("Neg", {"x"}, {}));
         return m;
       }},
      {rule::attribute_unknown.code,
       [] {
         Model m =
             one("LayerNormalization", {weight("scale", {3})}, {real("epsion", 1)}, value("x"), 12);
         return m;
       }},
      {rule::dim_negative.code,
       [] {
         Model m = simple();
         m.graph->input[0] = value("x", DType::f32, {-1, 3});
         m.graph->output[0] = value("y", DType::f32, {-1, 3});
         return m;
       }},
      {rule::annotation.code,
       [] {
         Model m = simple();
         m.graph->quantization_annotation.emplace_back().tensor_name = "nowhere";
         return m;
       }},
      {rule::binding_key.code,
       [] {
         Model m = with_training();
         m.training_info[0].update_binding[0].key = "nowhere";
         return m;
       }},
      {rule::binding_value.code,
       [] {
         Model m = with_training();
         m.training_info[0].update_binding[0].value = "nowhere";
         return m;
       }},
      {rule::initialization_inputs.code,
       [] {
         Model m = with_training();
         m.training_info[0].initialization = m.training_info[0].algorithm;
         return m;
       }},
      {rule::device_configuration.code,
       [] {
         Model m = with_devices();
         m.configuration[0].num_devices = 0;
         return m;
       }},
      {rule::node_configuration.code,
       [] {
         Model m = with_devices();
         m.graph->node[0].device_configurations[0].configuration_id = "nowhere";
         return m;
       }},
      {rule::sharding.code,
       [] {
         Model m = with_devices();
         m.graph->node[0].device_configurations[0].sharding_spec[0].tensor_name = "nowhere";
         return m;
       }},
  };
}

TEST(Accept, what_has_one_meaning_is_refused_strictly_taken_to_run_and_mended_by_fix) {
  const auto models = deviating();
  for (const accept::Reading& reading : accept::readings()) {
    SCOPED_TRACE(reading.rule->code);
    ASSERT_TRUE(models.contains(reading.rule->code));
    const Model m = models.at(reading.rule->code)();
    EXPECT_NE(check(m).find(reading.rule->code), nullptr);
    EXPECT_FALSE(taken(m, Accept::strict).ok());
    const auto common = taken(m);
    ASSERT_TRUE(common.ok()) << common.error().text();
    ASSERT_FALSE(common->deviations().empty());
    const bool named =
        std::any_of(common->deviations().begin(), common->deviations().end(),
                    [&](const Diagnostic& d) { return d.code == reading.rule->code; });
    EXPECT_TRUE(named);
    EXPECT_TRUE(check(common->model(), {.open_types = true}).valid());
    const auto fixed = fix(m);
    ASSERT_TRUE(fixed.ok());
    EXPECT_FALSE(fixed->journal.empty());
    EXPECT_TRUE(check(fixed->model, {.open_types = true}).valid());
  }
}

TEST(Accept, a_model_that_keeps_the_rules_is_not_copied) {
  const auto m = std::make_shared<const Model>(simple());
  const auto common = checked(m, {.accept = Accept::common});
  ASSERT_TRUE(common.ok());
  EXPECT_EQ(common->shared(), m);
  EXPECT_TRUE(common->notes().empty());
}

TEST(Accept, a_profile_accepts_nothing) {
  Model m = simple();
  m.graph->name.clear();
  const auto m_shared = std::make_shared<const Model>(m);
  EXPECT_TRUE(checked(m_shared, {.accept = Accept::common}).ok());
  EXPECT_FALSE(checked(m_shared, {.profile = Profile::sonnx, .accept = Accept::common}).ok());
}

TEST(Accept, the_note_counts_and_names_each_rule_once) {
  Model m = simple();
  set(m, &Model::ir_version, 3);
  m.graph->name.clear();
  m.graph->initializer.push_back(weight("v", {2, 3}));
  const auto common = taken(m);
  ASSERT_TRUE(common.ok());
  const std::vector<std::string> notes = common->notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(
      notes[0],
      "accepted with 3 deviations: the graph has no name [SDX-K0201]; \"w\" is an "
      "initializer but no graph input; IR version 3 requires both [SDX-K0213] and 1 more; see "
      "sardonyx check");
}

TEST(Accept, errors_and_deviations_come_at_once) {
  Model m = simple();
  m.graph->name.clear();
  m.graph->node[0].input[0] = "nowhere";
  m.graph->node[1].input.push_back("x");
  const auto common = taken(m);
  ASSERT_FALSE(common.ok());
  const std::string text = common.error().text();
  for (const char* code : {"SDX-K0201", "SDX-K0209", "SDX-K0307"}) {
    EXPECT_NE(text.find(code), std::string::npos) << code << " in\n" << text;
  }
}

TEST(Accept, operators_that_are_missing_come_with_the_other_errors) {
  Model m = simple();
  m.graph->name.clear();
  m.graph->node[0].op_type = "NoSuchOperator";
  m.graph->node[1].input.push_back("x");
  const auto common = taken(m);
  ASSERT_FALSE(common.ok());
  EXPECT_EQ(common.error().code, "SDX-G0003");
  const std::string text = common.error().text();
  EXPECT_NE(text.find("SDX-K0201"), std::string::npos) << text;
  EXPECT_NE(text.find("SDX-K0307"), std::string::npos) << text;
}

TEST(Accept, an_inner_name_that_is_read_before_it_is_made_stays_an_error) {
  Model m = shadowed();
  model::Graph& then = *m.graph->node[0].attribute[0].g;
  then.node.insert(then.node.begin(), node("Relu", {"x"}, {"outer_or_inner"}));
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, names_inside_the_subgraph_follow_the_inner_value) {
  const auto common = taken(shadowed());
  ASSERT_TRUE(common.ok());
  const model::Graph& then = *common->model().graph->node[0].attribute[0].g;
  EXPECT_EQ(then.node[1].output[0], then.output[0].name);
  EXPECT_NE(then.output[0].name, "x");
  const model::Graph& other = *common->model().graph->node[0].attribute[1].g;
  EXPECT_EQ(other.node[0].input[0], "x");
}

TEST(Accept, an_older_version_of_an_operator_set_behind_a_newer_one_stays_an_error) {
  Model m = simple();
  m.opset_import.push_back(import("ai.onnx", 1));
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, of_two_versions_of_an_operator_set_the_last_counts_if_it_is_the_newest) {
  Model m = simple();
  m.opset_import = {import("", 21), import("ai.onnx", 1), import("", 1), import("", 21)};
  const auto common = taken(m);
  ASSERT_TRUE(common.ok()) << common.error().text();
  ASSERT_EQ(common->model().opset_import.size(), 1U);
  EXPECT_EQ(common->model().opset_import[0].version, 21);
}

TEST(Accept, of_constants_with_one_name_the_last_counts) {
  const auto common = taken(constants_of_one_name());
  ASSERT_TRUE(common.ok()) << common.error().text();
  const std::vector<model::Node>& nodes = common->model().graph->node;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(*model::to_tensor(*nodes[0].attribute[0].t)->data<float>(), 2);
}

TEST(Accept, a_name_that_a_constant_and_another_node_write_stays_an_error) {
  Model m = constants_of_one_name();
  m.graph->node.back() = node("Neg", {"x"}, {"w"});
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, an_iteration_of_two_elements_stays_an_error) {
  Model m = with_loop();
  m.graph->node[0].attribute[0].g->input[0] = value("i", DType::i64, {2});
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, version_0_of_an_operator_set_alone_stays_an_error) {
  Model m = simple();
  m.opset_import.clear();
  m.opset_import.push_back(import("", 0));
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, a_missing_import_of_operators_with_several_versions_stays_an_error) {
  Model m = simple();
  m.opset_import.clear();
  m.opset_import.push_back(import("com.microsoft", 1));
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, an_output_of_the_graph_keeps_its_declared_type) {
  Model m = simple();
  m.graph->output[0] = value("y", DType::f16);
  EXPECT_FALSE(taken(m).ok());
}

TEST(Accept, an_attribute_that_an_operator_of_onnx_does_not_know_stays_an_error) {
  EXPECT_FALSE(taken(one("Relu", {}, {real("epsion", 1)})).ok());
  EXPECT_FALSE(taken(one("LayerNormalization", {weight("scale", {3})}, {real("epsion", 1)})).ok());
}

TEST(Accept, a_cycle_is_no_matter_of_order) {
  Model m = simple();
  m.graph->node[0].input[0] = "y";
  EXPECT_FALSE(taken(m).ok());
}

}  // namespace
}  // namespace sdx::check
