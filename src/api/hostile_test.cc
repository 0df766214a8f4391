// Files that attack their reader, named after the public vulnerabilities and classes they stand
// for. Each must end in an error, soon, without a crash and without much memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/engine.h"
#include "check/check.h"
#include "check/fix.h"
#include "check/test_models.h"

namespace sdx {
namespace {

namespace fs = std::filesystem;
using namespace check::test;  // NOLINT: the models are what this file is about
using model::Model;

// A folder with a model in it, beside a secret that the model must not reach.
class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sdx_hostile.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "model" / "sub");
    std::ofstream(root_ / "secret") << std::string(24, 's');
    std::ofstream(root_ / "model" / "good.bin") << std::string(24, '\0');
  }
  void TearDown() override { fs::remove_all(root_); }

  // The loader's code for a weight that lies at `location`; checking and compiling fail as well.
  std::string outcome(const std::string& location, const std::string& offset = "",
                      const std::string& length = "") {
    Model m = simple();
    model::TensorData& w = m.graph->initializer[0];
    w.raw_data = {};
    w.present = 0;
    set(w, &model::TensorData::name, std::string("w"));
    set(w, &model::TensorData::data_type, 1);
    set(w, &model::TensorData::data_location, model::DataLocation::external);
    w.external_data = {entry("location", location)};
    if (!offset.empty()) w.external_data.push_back(entry("offset", offset));
    if (!length.empty()) w.external_data.push_back(entry("length", length));
    const std::string path = (root_ / "model" / "m.onnx").string();
    EXPECT_TRUE(model::write_file(m, path).ok());
    const auto read = model::read_file(path);
    EXPECT_TRUE(read.ok());
    const auto compiled = compile(*read);
    const bool valid = check::check(**read).valid();
    const auto loaded = model::to_tensor((*read)->graph->initializer[0]);
    EXPECT_EQ(valid, loaded.ok()) << "the checker and the loader must agree";
    EXPECT_EQ(compiled.ok(), loaded.ok());
    return loaded ? "" : loaded.error().code;
  }
  fs::path root_;
};

TEST_F(Folder, external_data_inside_the_folder_is_read) { EXPECT_EQ(outcome("good.bin"), ""); }

TEST_F(Folder, CVE_2022_25882_parent_folders_are_refused) {
  for (const std::string location : {"../secret", "sub/../../secret", "./../secret", "sub/.."}) {
    EXPECT_EQ(outcome(location), "SDX-B0302") << location;
  }
}

TEST_F(Folder, CVE_2024_27318_other_ways_out_of_the_folder_are_refused) {
  EXPECT_EQ(outcome((root_ / "secret").string()), "SDX-B0302");
  EXPECT_EQ(outcome(std::string("good.bin\0/../../secret", 22)), "SDX-B0302");
  EXPECT_EQ(outcome(".//..//secret"), "SDX-B0302");
}

TEST_F(Folder, CVE_2024_27319_reads_past_the_end_are_refused) {
  EXPECT_EQ(outcome("good.bin", "1"), "SDX-B0305");
  EXPECT_EQ(outcome("good.bin", "18446744073709551615"), "SDX-B0305");
  EXPECT_EQ(outcome("good.bin", "0", "25"), "SDX-B0305");
}

TEST_F(Folder, CVE_2025_51480_writing_a_model_touches_no_other_file) {
  fs::create_symlink(root_ / "secret", root_ / "model" / "out.onnx");
  EXPECT_TRUE(model::write_file(simple(), (root_ / "model" / "out.onnx").string()).ok());
  std::ifstream secret(root_ / "secret");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(secret), {}), std::string(24, 's'));
}

TEST_F(Folder, CVE_2026_27489_symbolic_links_are_refused) {
  fs::create_symlink(root_ / "secret", root_ / "model" / "link.bin");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_EQ(outcome("link.bin"), "SDX-B0303");
  EXPECT_EQ(outcome("up/secret"), "SDX-B0303");
}

TEST_F(Folder, CVE_2026_34446_hard_links_are_refused) {
  fs::create_hard_link(root_ / "secret", root_ / "model" / "hard.bin");
  EXPECT_EQ(outcome("hard.bin"), "SDX-B0303");
}

TEST_F(Folder, time_of_check_to_time_of_use_the_file_checked_is_the_file_read) {
  ASSERT_EQ(outcome("good.bin"), "");
  const auto read = model::read_file((root_ / "model" / "m.onnx").string());
  ASSERT_TRUE(read.ok());
  ASSERT_TRUE(check::check(**read).valid());  // opens and keeps it
  fs::remove(root_ / "model" / "good.bin");
  fs::create_symlink(root_ / "secret", root_ / "model" / "good.bin");
  const auto weight = model::to_tensor((*read)->graph->initializer[0]);
  ASSERT_TRUE(weight.ok());
  EXPECT_EQ(weight->data<float>()[0], 0.0F);
}

std::string compile_code(const Model& m) {
  const auto start = std::chrono::steady_clock::now();
  const auto compiled = compile(std::make_shared<const Model>(m));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  return compiled ? "" : compiled.error().code;
}

// The code of what running on the given inputs ends with.
std::string run_code(const Model& m, const std::vector<Value>& inputs) {
  const auto compiled = compile(std::make_shared<const Model>(m));
  if (!compiled) return compiled.error().code;
  run::Session session(*compiled);
  const auto outputs = session.run(inputs);
  return outputs ? "" : outputs.error().code;
}

TEST(Hostile, CVE_2026_34445_a_few_bytes_cannot_ask_for_huge_memory) {
  Model m = simple();
  m.graph->initializer[0].dims = {int64_t{1} << 31, int64_t{1} << 31};
  EXPECT_NE(compile_code(m), "");
  m.graph->initializer[0].dims = {int64_t{1} << 62, 8};
  EXPECT_NE(compile_code(m), "");
  // A sparse tensor of one element that would be dense.
  Model sparse = with_sparse();
  sparse.graph->sparse_initializer[0].dims = {int64_t{1} << 30, int64_t{1} << 30};
  EXPECT_NE(compile_code(sparse), "");
  // Constants that folding would blow up stay as they are until somebody runs them.
  Model fill = with_graph({}, {node("ConstantOfShape", {"shape"}, {"y"})},
                          {value("y", DType::f32, {int64_t{1} << 40})});
  fill.graph->initializer = {
      model::from_tensor(Tensor::of<int64_t>({1}, {int64_t{1} << 40}), "shape")};
  EXPECT_EQ(run_code(fill, {}), "SDX-R0020");
}

TEST(Hostile, sizes_that_overflow_are_errors) {
  Model m = with_graph({value("x", DType::f32, {int64_t{1} << 40, int64_t{1} << 40})},
                       {node("Relu", {"x"}, {"y"})},
                       {value("y", DType::f32, {int64_t{1} << 40, int64_t{1} << 40})});
  EXPECT_NE(compile_code(m), "");
  m.graph->node[0] = node("Shape", {"x"}, {"y"});
  m.graph->output = {value("y", DType::i64, {2})};
  EXPECT_EQ(compile_code(m), "") << "its size alone is no tensor";
  EXPECT_NE(run_code(m, {Tensor::make(DType::f32, {2, 3})}), "");
  Model tile =
      one("Tile", {model::from_tensor(Tensor::of<int64_t>({2}, {INT64_MAX, INT64_MAX}), "r")}, {});
  EXPECT_NE(run_code(tile, {Tensor::make(DType::f32, {2, 3})}), "");
}

TEST(Hostile, indices_of_gather_and_scatter_outside_are_errors) {
  for (const int64_t index : {int64_t{2}, int64_t{-3}, INT64_MAX, INT64_MIN}) {
    const model::TensorData i = model::from_tensor(Tensor::of<int64_t>({1}, {index}), "i");
    const model::TensorData pair = model::from_tensor(Tensor::of<int64_t>({1, 1}, {index}), "i");
    const Value x = Tensor::make(DType::f32, {2, 3});
    EXPECT_NE(run_code(one("Gather", {i}, {}), {x}), "") << index;
    EXPECT_NE(run_code(one("GatherElements", {pair}, {}), {x}), "") << index;
    EXPECT_NE(run_code(one("GatherND", {pair}, {}), {x}), "") << index;
    EXPECT_NE(run_code(one("ScatterElements", {pair, weight("u", {1, 1})}, {}), {x}), "") << index;
    EXPECT_NE(run_code(one("ScatterND", {pair, weight("u", {1, 3})}, {}), {x}), "") << index;
  }
}

TEST(Hostile, integer_division_by_zero_has_an_answer) {
  for (const std::string op : {"Div", "Mod"}) {
    Model m = with_graph({value("x", DType::i32), value("z", DType::i32)},
                         {node(op, {"x", "z"}, {"y"})}, {value("y", DType::i32)});
    const Value x = Tensor::of<int32_t>({2, 3}, {INT32_MIN, -1, 0, 1, 7, INT32_MAX});
    EXPECT_EQ(run_code(m, {x, Tensor::of<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0})}), "");
    EXPECT_EQ(run_code(m, {x, Tensor::of<int32_t>({2, 3}, {-1, -1, -1, -1, -1, -1})}), "");
  }
}

TEST(Hostile, trees_with_bad_child_ids_are_errors) {
  const auto strings = [](const std::string& name, std::vector<std::string> list) {
    Attribute a = attribute(name, AttributeType::strings);
    a.strings = std::move(list);
    return a;
  };
  const auto floats = [](const std::string& name, std::vector<float> list) {
    Attribute a = attribute(name, AttributeType::floats);
    a.floats = std::move(list);
    return a;
  };
  for (const int64_t child : {int64_t{5}, int64_t{0}, int64_t{-1}, INT64_MAX}) {
    Model m = with_graph(
        {value("x", DType::f32, {1, 2})},
        {node("TreeEnsembleRegressor", {"x"}, {"y"},
              {integers("nodes_treeids", {0, 0, 0}), integers("nodes_nodeids", {0, 1, 2}),
               integers("nodes_featureids", {0, 0, 0}),
               strings("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
               floats("nodes_values", {0.5F, 0, 0}), integers("nodes_truenodeids", {child, 0, 0}),
               integers("nodes_falsenodeids", {2, 0, 0}), integers("target_treeids", {0, 0}),
               integers("target_nodeids", {1, 2}), integers("target_ids", {0, 0}),
               floats("target_weights", {1, 2}), integer("n_targets", 1)})},
        {value("y", DType::f32, {1, 1})});
    set(m.graph->node[0], &model::Node::domain, std::string("ai.onnx.ml"));
    m.opset_import.push_back(import("ai.onnx.ml", 3));
    EXPECT_NE(run_code(m, {Tensor::make(DType::f32, {1, 2})}), "") << child;
  }
}

TEST(Hostile, Col2Im_with_sizes_that_do_not_fit_is_an_error) {
  for (const int64_t side : {int64_t{1000}, INT64_MAX, int64_t{-1}}) {
    const Model m = one("Col2Im",
                        {model::from_tensor(Tensor::of<int64_t>({2}, {side, side}), "image"),
                         model::from_tensor(Tensor::of<int64_t>({2}, {1, 5}), "block")},
                        {}, value("x", DType::f32, {1, 5, 5}));
    EXPECT_NE(run_code(m, {Tensor::make(DType::f32, {1, 5, 5})}), "") << side;
  }
}

TEST(Hostile, SVM_with_lists_of_the_wrong_length_is_an_error) {
  Attribute vectors = attribute("support_vectors", AttributeType::floats);
  vectors.floats = {1, 2, 3};
  Attribute weights = attribute("coefficients", AttributeType::floats);
  weights.floats = {1};
  Attribute rho = attribute("rho", AttributeType::floats);
  rho.floats = {0};
  Model m = with_graph(
      {value("x", DType::f32, {1, 2})},
      {node("SVMRegressor", {"x"}, {"y"}, {vectors, weights, rho, integer("n_supports", 1000000)})},
      {value("y", DType::f32, {1, 1})});
  set(m.graph->node[0], &model::Node::domain, std::string("ai.onnx.ml"));
  m.opset_import.push_back(import("ai.onnx.ml", 1));
  EXPECT_NE(run_code(m, {Tensor::make(DType::f32, {1, 2})}), "");
}

// Functions that call the next one twice: 2^40 nodes.
TEST(Hostile, exponential_inlining_is_an_error) {
  Model m = with_graph({value("x")}, {node("f0", {"x"}, {"y"})}, {value("y")});
  set(m.graph->node[0], &model::Node::domain, std::string("local"));
  m.opset_import.push_back(import("local", 1));
  for (int i = 0; i < 40; ++i) {
    model::Function f;
    set(f, &model::Function::name, "f" + std::to_string(i));
    set(f, &model::Function::domain, std::string("local"));
    f.input = {"a"};
    f.output = {"r"};
    f.opset_import = {import("", 21), import("local", 1)};
    const std::string next = "f" + std::to_string(i + 1);
    f.node = {node(next, {"a"}, {"b"}), node(next, {"b"}, {"r"})};
    for (model::Node& n : f.node) set(n, &model::Node::domain, std::string("local"));
    if (i == 39) f.node = {node("Neg", {"a"}, {"b"}), node("Neg", {"b"}, {"r"})};
    m.functions.push_back(std::move(f));
  }
  EXPECT_TRUE(check::check(m).valid());
  EXPECT_EQ(check::fix(m, {.most_nodes = 10000}).error().code, "SDX-G0010");
  CompileOptions options;
  options.most_nodes = 10000;
  const auto typed = type(std::make_shared<const Model>(m), options);
  ASSERT_FALSE(typed.ok());
  EXPECT_EQ(typed.error().code, "SDX-G0010");
}

// Each level hands the one below what it was given: without a memory of what was typed before, the
// work doubles, or worse, with every level.
TEST(Hostile, exponential_typing_of_nested_subgraphs_does_not_happen) {
  const auto start = std::chrono::steady_clock::now();
  model::Node inner = node("Neg", {"x"}, {"v0"});
  for (int i = 1; i <= 20; ++i) {
    const std::string below = "v" + std::to_string(i - 1);
    const auto branch = [&](const std::string& name, model::Node step) {
      model::Graph g;
      set(g, &model::Graph::name, name + std::to_string(i));
      g.output = {value(step.output[0])};
      g.node = {std::move(step)};
      return g;
    };
    inner =
        node("If", {"c"}, {"v" + std::to_string(i)},
             {body("then_branch", branch("then", std::move(inner))),
              body("else_branch", branch("else", node("Abs", {"x"}, {"e" + std::to_string(i)})))});
  }
  Model ifs =
      with_graph({value("x"), value("c", DType::boolean, {})}, {std::move(inner)}, {value("v20")});
  EXPECT_TRUE(check::check(ifs).valid());
  EXPECT_EQ(compile_code(ifs), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));

  // Loops whose state changes its shape are typed more than once per level.
  model::Node step = node("Concat", {"s0", "s0"}, {"t0"}, {integer("axis", 0)});
  const auto open = [](const std::string& name) {
    model::ValueInfo info = value(name);
    std::get<model::TensorType>(info.type->value).shape.reset();
    return info;
  };
  for (int i = 1; i <= 12; ++i) {
    const std::string level = std::to_string(i), below = std::to_string(i - 1);
    model::Graph g;
    set(g, &model::Graph::name, "body" + level);
    g.input = {value("i" + level, DType::i64, {}), value("k" + level, DType::boolean, {}),
               open("s" + below)};
    g.node = {node("Identity", {"k" + level}, {"g" + level}), std::move(step)};
    g.output = {value("g" + level, DType::boolean, {}), open("t" + below)};
    step = node("Loop", {"m", "", "s" + level}, {"t" + level}, {body("body", std::move(g))});
  }
  step.input[2] = "x";
  Model loops =
      with_graph({value("x"), value("m", DType::i64, {})}, {std::move(step)}, {open("t12")});
  const auto again = std::chrono::steady_clock::now();
  EXPECT_EQ(compile_code(loops), "");
  EXPECT_LT(std::chrono::steady_clock::now() - again, std::chrono::seconds(30));
}

TEST(Hostile, type_confusion_of_bound_inputs_is_an_error) {
  const Value right = Tensor::make(DType::f32, {2, 3});
  EXPECT_EQ(run_code(simple(), {right}), "");
  EXPECT_NE(run_code(simple(), {Value(Tensor::make(DType::i64, {2, 3}))}), "");
  EXPECT_NE(run_code(simple(), {Value(Tensor::make(DType::string, {2, 3}))}), "");
  EXPECT_NE(run_code(simple(), {Value(Tensor::make(DType::f32, {3, 2}))}), "");
  EXPECT_NE(run_code(simple(), {Value::of(Sequence{right})}), "");
  EXPECT_NE(run_code(simple(), {Value()}), "");
  EXPECT_NE(run_code(simple(), {}), "");
}

TEST(Limits, each_has_its_error) {
  const std::string bytes = model::write(simple());
  const auto read = [&](const model::Limits& limits) {
    const auto found = model::read_bytes(std::as_bytes(std::span(bytes)), limits);
    return found ? std::string() : found.error().what;
  };
  EXPECT_EQ(read({}), "");
  const std::pair<size_t model::Limits::*, std::string> limits[] = {
      {&model::Limits::file_bytes, "the limit is 1"},
      {&model::Limits::depth, "depth"},
      {&model::Limits::nodes, "more than 1 nodes"},
      {&model::Limits::messages, "more than 1 messages"},
      {&model::Limits::elements, "more than 1 elements of lists"},
      {&model::Limits::name_bytes, "more than 1 bytes of a string"},
      {&model::Limits::rank, "more than 1 dimensions"},
      {&model::Limits::tensor_bytes, "more than 1 bytes of a tensor"},
      {&model::Limits::total_bytes, "more than 1 bytes of all tensors"}};
  for (const auto& [member, text] : limits) {
    model::Limits small;
    small.*member = 1;
    EXPECT_NE(read(small).find(text), std::string::npos) << text << " in: " << read(small);
  }
}

}  // namespace
}  // namespace sdx
