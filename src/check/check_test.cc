// What a report says: places, reasons and chains; the examples of the specification; and that
// nothing valid is refused.
#include "check/check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "check/test_models.h"
#include "check/typable.h"
#include "model/io.h"

namespace sdx::check {
namespace {

using namespace test;  // NOLINT: the models are what this file is about
using model::Model;

Report sonnx(const Model& m, Options options = {.profile = Profile::sonnx}) {
  return check(m, options);
}

std::vector<std::string> codes(const Report& report, Severity least = Severity::error) {
  std::vector<std::string> found;
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity >= least) found.push_back(d.code);
  }
  return found;
}

// O1 = I1 + I2; O2 = O1 * constant; a Sub whose output nobody uses.
Model four_nodes() {
  Model m =
      with_graph({value("I1"), value("I2")},
                 {node("Add", {"I1", "I2"}, {"O1"}),
                  node("Constant", {}, {"op2_out"}, {tensor("value", Tensor::of<float>({}, {2}))}),
                  node("Mul", {"O1", "op2_out"}, {"O2"}), node("Sub", {"I1", "I2"}, {"op4_out"})},
                 {value("O1"), value("O2")});
  set(*m.graph, &model::Graph::name, "Test");
  return m;
}

TEST(Check, a_valid_model_gives_an_empty_report) {
  EXPECT_TRUE(check(simple()).diagnostics.empty());
  EXPECT_TRUE(check(with_if()).diagnostics.empty());
  EXPECT_TRUE(check(with_function()).diagnostics.empty());
  EXPECT_TRUE(check(with_loop()).diagnostics.empty());
  EXPECT_TRUE(check(with_scan()).diagnostics.empty());
  EXPECT_TRUE(check(with_training()).diagnostics.empty());
  EXPECT_TRUE(check(with_devices()).diagnostics.empty());
}

TEST(Check, two_writers_of_one_name_are_both_named) {
  Model m = simple();
  m.graph->node[0].name = "first";
  m.graph->node[1].name = "second";
  m.graph->node[1].output[0] = "s";
  const Report report = check(m);
  const Diagnostic* d = report.find("SDX-K0203");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->message,
            "\"s\" is written by node 0 \"first\" (Add) and again by node 1 \"second\" (Relu)");
  EXPECT_EQ(d->place, "graph \"main\", node 1 \"second\" (Relu, ai.onnx 21)");
}

TEST(Check, a_cycle_is_printed) {
  Model m = simple();
  m.graph->node[0].input[1] = "y";
  const Report report = check(m);
  EXPECT_EQ(codes(report), std::vector<std::string>{"SDX-K0211"});
  EXPECT_EQ(report.find("SDX-K0211")->message,
            "nodes need each other's outputs: node 0 (Add) -\"s\"-> node 1 (Relu) -\"y\"-> node 0 "
            "(Add)");
}

TEST(Check, an_unsorted_graph_names_the_first_early_use_and_is_no_cycle) {
  Model m = with_graph(
      {value("x")},
      {node("Relu", {"b"}, {"y"}), node("Relu", {"a"}, {"b"}), node("Relu", {"x"}, {"a"})},
      {value("y")});
  const Report report = check(m);
  EXPECT_EQ(codes(report), std::vector<std::string>{"SDX-K0210"});
  const Diagnostic* d = report.find("SDX-K0210");
  EXPECT_EQ(d->message, "\"b\" is used here but defined later, by node 1 (Relu)");
  EXPECT_EQ(d->notes, std::vector<std::string>{"1 more uses come before their definitions"});
}

TEST(Check, a_subgraph_counts_as_a_use_by_its_node) {
  Model m = with_if();
  m.graph->node.push_back(node("Neg", {"x"}, {"late"}));
  m.graph->node[0].attribute[0].g->node[0].input[1] = "late";
  const Report report = check(m);
  EXPECT_EQ(codes(report), std::vector<std::string>{"SDX-K0210"});
}

TEST(Check, the_place_leads_through_subgraphs) {
  Model m = with_if();
  m.graph->node[0].attribute[0].g->node[0].input[1] = "none";
  const Report report = check(m);
  EXPECT_EQ(report.find("SDX-K0209")->place,
            "graph \"main\", node 0 (If, ai.onnx 21), attribute \"then_branch\", graph \"then\", "
            "node 0 (Add, ai.onnx 21)");
}

TEST(Check, indirect_recursion_prints_the_chain) {
  Model m = with_function();
  model::Function other = m.functions[0];
  other.name = "other";
  for (const auto& [at, name] :
       {std::pair{size_t{0}, std::string("other")}, {size_t{1}, std::string("twice")}}) {
    if (at == 1) m.functions.push_back(other);
    model::Function& f = m.functions[at];
    f.opset_import.push_back(import("local", 1));
    f.node[0] = node(name, {"a"}, {"d"});
    f.node[0].domain = "local";
  }
  const Report report = check(m);
  const Diagnostic* d = report.find("SDX-K0604");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->message, "functions call themselves: local.twice -> local.other -> local.twice");
}

TEST(Check, a_wrong_count_of_inputs_shows_the_inputs) {
  Model m = simple();
  m.graph->node[0].input.emplace_back("x");
  const Report report = check(m);
  const Diagnostic* d = report.find("SDX-K0307");
  EXPECT_EQ(d->message, "Add has 3 inputs; version 14 takes 2");
  ASSERT_EQ(d->inputs.size(), 3U);
  EXPECT_EQ(d->inputs[0], "A = \"x\"   float [2,3]   graph input");
  EXPECT_EQ(d->inputs[1], "B = \"w\"   float [2,3]   initializer");
}

TEST(Check, all_violations_come_in_one_report) {
  Model m = simple();
  m.graph->name.clear();
  m.graph->node[0].op_type = "Plus";
  m.graph->initializer[0].dims[0] = 3;
  m.graph->output.push_back(value("z"));
  const Report report = check(m);
  for (const char* code : {"SDX-K0201", "SDX-K0304", "SDX-K0509", "SDX-K0208"}) {
    EXPECT_NE(report.find(code), nullptr) << code;
  }
  EXPECT_FALSE(checked(std::make_shared<const Model>(m)));
  EXPECT_TRUE(checked(std::make_shared<const Model>(simple())));
}

TEST(Check, an_operator_of_a_foreign_domain_is_no_violation_unless_the_model_shall_run) {
  Model m = simple();
  m.opset_import.push_back(import("com.example", 1));
  m.graph->node[0].domain = "com.example";
  EXPECT_TRUE(check(m).valid());
  EXPECT_NE(check(m).find("SDX-K0316"), nullptr);
  Report report = check(m);
  require_runnable(report);
  EXPECT_FALSE(report.valid());
  const auto refused = checked(std::make_shared<const Model>(m));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "SDX-G0003") << "to run it is refused, by name";
}

TEST(Check, two_nodes_of_one_name_are_a_violation_and_run_all_the_same) {
  Model m = simple();
  for (model::Node& node : m.graph->node) node.name = "same";
  EXPECT_FALSE(check(m).valid());
  EXPECT_TRUE(checked(std::make_shared<const Model>(m), {.open_types = true}));
}

TEST(Check, every_wrong_type_is_reported_with_the_inputs) {
  Model m = simple();
  m.graph->input[0] = value("x", DType::i64);
  m.graph->node.push_back(node("Not", {"y"}, {"z"}));
  m.graph->output.push_back(value("z", DType::boolean));
  const Report report = check(m);
  EXPECT_EQ(codes(report), (std::vector<std::string>{"SDX-K0314", "SDX-K0314"}));
  EXPECT_EQ(report.diagnostics[0].message,
            "Add: inputs 0 (A) and 1 (B) share the type T but are tensor(int64) and tensor(float)");
  EXPECT_EQ(report.diagnostics[0].inputs.size(), 2U);
}

TEST(Check, a_training_step_sees_the_values_of_the_main_graph) {
  Model m = with_training();
  m.training_info[0].algorithm->node[0].input[1] = "s";
  EXPECT_TRUE(check(m).diagnostics.empty());
}

TEST(Check, a_full_report_counts_what_it_leaves_out) {
  Model m = simple();
  for (int i = 0; i < 10; ++i) m.graph->output.push_back(value("z" + std::to_string(i)));
  const Report report = check(m, {.most = 4});
  EXPECT_EQ(report.diagnostics.size(), 4U);
  EXPECT_EQ(report.left_out, 6U);
  EXPECT_EQ(report.count(Severity::error), 10U);
}

TEST(Check, names_of_a_file_are_shown_without_control_characters) {
  EXPECT_EQ(check::in_quotes("a\x1b[2J\n"), "\"a\\x1b[2J\\x0a\"");
  EXPECT_LT(check::in_quotes(std::string(5000, 'x')).size(), 300U);
}

TEST(Check, versions_are_simple_or_of_two_two_and_four_bytes) {
  EXPECT_EQ(version_text(7), "7");
  EXPECT_EQ(version_text(0x0001'0002'00000003), "1.2.3");
  EXPECT_EQ(version_text(0x0000'0001'00000000), "0.1.0");
}

TEST(Check, identifiers_are_a_note_and_an_error_under_the_profile) {
  Model m = simple();
  m.graph->node[0].name = "layer/Add";
  EXPECT_TRUE(check(m).valid());
  EXPECT_EQ(check(m).find("SDX-K0216")->severity, Severity::note);
  EXPECT_EQ(codes(sonnx(m)), std::vector<std::string>{"SDX-K0216"});
}

TEST(Sonnx, the_four_node_example_breaks_r1_at_sub_only) {
  const Model m = four_nodes();
  EXPECT_TRUE(check(m).diagnostics.empty());
  const Report report = sonnx(m);
  EXPECT_EQ(codes(report, Severity::note), std::vector<std::string>{"SONNX-R1"});
  EXPECT_EQ(report.diagnostics[0].place, "graph \"Test\", node 3 (Sub, ai.onnx 21)");
}

TEST(Sonnx, r1_is_judged_per_output_and_notes_the_reading_per_node) {
  Model m = with_graph({value("x", DType::f32, {4})},
                       {node("Split", {"x"}, {"a", "b"}, {integer("num_outputs", 2)})},
                       {value("a", DType::f32, {2})});
  const Report report = sonnx(m);
  ASSERT_EQ(codes(report), std::vector<std::string>{"SONNX-R1"});
  EXPECT_NE(report.diagnostics[0].message.find("\"b\""), std::string::npos);
  EXPECT_EQ(report.diagnostics[0].notes.size(), 1U);
}

TEST(Sonnx, control_flow_is_judged_by_its_bodies) {
  Model m = with_if();
  EXPECT_EQ(sonnx(m).find("SONNX-R2"), nullptr);
  m.graph->node[0].attribute[0].g->node[0] = node("RandomNormalLike", {"x"}, {"t"});
  EXPECT_TRUE(check(m).valid());
  const Report report = sonnx(m);
  ASSERT_NE(report.find("SONNX-R2"), nullptr);
  EXPECT_NE(report.find("SONNX-R2")->place.find("then_branch"), std::string::npos);
}

TEST(Sonnx, dropout_is_random_in_training_only) {
  Model m =
      one("Dropout",
          {weight("ratio", {}), model::from_tensor(Tensor::of<bool>({}, {false}), "mode")}, {});
  EXPECT_EQ(sonnx(m).find("SONNX-R2"), nullptr);
  m.graph->initializer[1] = model::from_tensor(Tensor::of<bool>({}, {true}), "mode");
  EXPECT_NE(sonnx(m).find("SONNX-R2"), nullptr);
}

TEST(Sonnx, captures_are_noted_and_can_be_forbidden) {
  EXPECT_TRUE(sonnx(with_if()).valid());
  EXPECT_EQ(sonnx(with_if()).find("SONNX-F3")->severity, Severity::note);
  const Report report = sonnx(with_if(), {.profile = Profile::sonnx, .capture_forbid = true});
  EXPECT_EQ(codes(report), (std::vector<std::string>{"SONNX-F3", "SONNX-F3"}));
}

TEST(Sonnx, rules_that_onnx_has_too_print_both_names) {
  Model m = simple();
  m.graph->node[0].input[1] = "y";
  EXPECT_EQ(check(m).diagnostics[0].sonnx, "");
  const Report report = sonnx(m);
  ASSERT_NE(report.find("SONNX-C4"), nullptr);
  EXPECT_TRUE(report.find("SONNX-C4")->text("m.onnx").starts_with("error[SDX-K0211, SONNX-C4]: "));
}

TEST(Sonnx, depthwise_convolution_is_a_note) {
  Model m = one("Conv", {weight("w", {4, 1, 3, 3})}, {integer("group", 4)},
                value("x", DType::f32, {1, 4, 8, 8}));
  const Report report = sonnx(m, {.profile = Profile::sonnx_full});
  EXPECT_EQ(report.find("SONNX-CONV")->severity, Severity::note);
}

// ONNX's own test models, of every opset, are valid.
TEST(Suite, no_valid_model_is_refused) {
  namespace fs = std::filesystem;
  std::vector<std::string> roots = {"/usr/lib/python3/dist-packages/onnx/backend/test/data"};
  if (const char* extra = std::getenv("SARDONYX_SUITE_DIR")) roots.emplace_back(extra);
  size_t models = 0;
  for (const std::string& root : roots) {
    if (!fs::exists(root)) continue;
    for (const auto& file : fs::recursive_directory_iterator(root)) {
      if (file.path().extension() != ".onnx") continue;
      const auto model = model::read_file(file.path().string());
      ASSERT_TRUE(model) << model.error().text();
      ++models;
      for (const Diagnostic& d : check(**model).diagnostics) {
        EXPECT_NE(d.severity, Severity::error) << d.text(file.path().string());
      }
      const Report full = check(**model, {.profile = Profile::sonnx_full});
      EXPECT_GE(full.diagnostics.size() + full.left_out, check(**model).diagnostics.size());
    }
  }
  if (models == 0) GTEST_SKIP() << "libonnx-testdata is not installed";
}

}  // namespace
}  // namespace sdx::check
