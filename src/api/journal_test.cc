// Every planned operation traces to the model, and every node of the model to the plan.
#include "api/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "api/engine.h"
#include "model/text.h"

namespace sdx {
namespace {

namespace fs = std::filesystem;

struct Made {
  std::shared_ptr<const model::Model> model;
  std::optional<Journal> journal;
  std::string error;
};

Made made_of(std::shared_ptr<const model::Model> model, CompileOptions options = {}) {
  Made made{std::move(model), {}, {}};
  options.threads = 1;
  options.journal = true;
  const auto compiled = compile(made.model, options);
  const auto plan = compiled ? (*compiled)->plan_under({})
                             : Result<std::shared_ptr<const plan::Plan>>(compiled.error());
  auto journal = plan ? journal_of(*made.model, **plan) : Result<Journal>(plan.error());
  if (journal) {
    made.journal = *std::move(journal);
  } else {
    made.error = journal.error().text();
  }
  return made;
}

Made made_of_text(const std::string& text, const CompileOptions& options = {}) {
  auto model = model::parse_text(text);
  EXPECT_TRUE(model) << model.error().text();
  return made_of(std::make_shared<const model::Model>(*std::move(model)), options);
}

const Fate& fate(const Made& made, std::string_view name) {
  for (const Fate& fate : made.journal->nodes) {
    if (fate.node.find(name) != std::string::npos) return fate;
  }
  ADD_FAILURE() << "no " << name << " in\n" << made.journal->text();
  static const Fate kNone;
  return kNone;
}

// What every journal holds, whatever the model.
void expect_complete(const Made& made, const std::string& what) {
  ASSERT_TRUE(made.journal) << what << "\n" << made.error;
  for (const TracedStep& step : made.journal->steps)
    EXPECT_FALSE(step.nodes.empty()) << what << ": " << step.operation << " \"" << step.name << '"';
  for (const Fate& fate : made.journal->nodes) {
    const bool runs = fate.kind == Fate::Kind::step || fate.kind == Fate::Kind::inside;
    EXPECT_EQ(runs && fate.steps.empty(), false) << what << ": " << fate.node;
    EXPECT_EQ(fate.kind == Fate::Kind::removed, !fate.reason.empty()) << what << ": " << fate.node;
    for (const size_t step : fate.steps) ASSERT_LT(step, made.journal->steps.size());
    if (fate.kind != Fate::Kind::step) continue;
    for (const size_t step : fate.steps) {
      const auto& nodes = made.journal->steps[step].nodes;
      EXPECT_NE(std::find(nodes.begin(), nodes.end(), fate.node), nodes.end())
          << what << ": " << fate.node << " and step " << step;
    }
  }
}

constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\" : 17]>\n";

TEST(Journal, a_chain_that_was_fused_names_its_nodes_and_the_rule) {
  const Made made = made_of_text(std::string(kHead) + R"(g (float[4] x) => (float[4] y) {
    [a] t = Add(x, x)
    [r] u = Relu(t)
    [unused] v = Neg(x)
    [m] y = Mul(u, x)
  })");
  expect_complete(made, "a chain");
  ASSERT_EQ(made.journal->steps.size(), 1U);
  const TracedStep& step = made.journal->steps[0];
  EXPECT_EQ(step.operation, "Elementwise");
  EXPECT_EQ(step.nodes.size(), 3U) << made.journal->text();
  ASSERT_EQ(step.by.size(), 1U) << made.journal->text();
  EXPECT_EQ(step.by[0].rule, "fuse_elementwise");
  EXPECT_EQ(step.by[0].gone, (std::vector<std::string>{"Add \"a\"", "Relu \"r\"", "Mul \"m\""}));
  EXPECT_EQ(fate(made, "unused").text(), "removed: no output needs it");
}

TEST(Journal, only_passes_that_change_something_make_a_graph) {
  const Made plain = made_of_text(std::string(kHead) + R"(g (float[4] x) => (float[4] y) {
    [s] y = Softmax(x)
  })");
  expect_complete(plain, "one node");
  EXPECT_EQ(plain.journal->passes, std::vector<std::string>{}) << plain.journal->text();
  const Made chain = made_of_text(std::string(kHead) + R"(g (float[4] x) => (float[4] y) {
    [unused] v = Neg(x)
    [a] t = Add(x, x)
    [r] y = Relu(t)
  })");
  expect_complete(chain, "a chain");
  EXPECT_EQ(chain.journal->passes, (std::vector<std::string>{"dead_code", "rules"}))
      << chain.journal->text();
}

TEST(Journal, what_is_computed_from_constants_is_folded) {
  const Made made = made_of_text(std::string(kHead) + R"(g (float[2] x) => (float[2] y)
  <float[2] w = {1, 2}> {
    [minus] n = Neg(w)
    [more] m = Add(n, w)
    [sum] y = Add(x, m)
  })");
  expect_complete(made, "constants");
  EXPECT_EQ(fate(made, "minus").text(), "folded to a constant, read by step 0");
  EXPECT_EQ(fate(made, "more").text(), "folded to a constant, read by step 0");
}

TEST(Journal, both_the_call_and_the_function_s_node_are_named) {
  const Made made = made_of_text(
      R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
  g (float[4] x) => (float[4] y) { [call] y = own.twice(x) }
  <domain: "own", opset_import: ["" : 17]> twice (a) => (b) { [sum] b = Add(a, a) }
  <domain: "own", opset_import: ["" : 17]> idle (a) => (b) { [none] b = Neg(a) })");
  expect_complete(made, "a function");
  ASSERT_EQ(made.journal->steps.size(), 1U);
  EXPECT_EQ(made.journal->steps[0].nodes,
            (std::vector<std::string>{"node 0 \"call\" (twice)",
                                      "function twice, node 0 \"sum\" (Add)"}));
  EXPECT_EQ(fate(made, "none").reason, "its function is never called");
}

TEST(Journal, a_branch_that_is_taken_is_traced_and_the_other_is_not) {
  const std::string branches = R"(
    then_branch = t () => (float[4] p) { [then] p = Neg(x) },
    else_branch = e () => (float[4] q) { [else] q = Abs(x) }> (c)
  })";
  const Made known = made_of_text(std::string(kHead) + R"(g (float[4] x) => (float[4] y)
    <bool c = {1}> { [if] y = If <)" +
                                  branches);
  expect_complete(known, "If");
  EXPECT_EQ(fate(known, "\"then\"").kind, Fate::Kind::step) << known.journal->text();
  EXPECT_EQ(fate(known, "\"else\"").reason, "its branch is never taken");
  EXPECT_EQ(fate(known, "\"if\"").kind, Fate::Kind::step);
  EXPECT_EQ(known.journal->steps[0].by[0].rule, "inline_branch");

  const Made open = made_of_text(std::string(kHead) + R"(g (float[4] x, bool c) => (float[4] y)
    { [if] y = If <)" + branches);
  expect_complete(open, "If");
  EXPECT_EQ(fate(open, "\"then\"").text(), "inside step 0") << open.journal->text();
  EXPECT_EQ(fate(open, "\"else\"").text(), "inside step 0");
}

TEST(Journal, a_plan_without_a_journal_says_so) {
  const auto model =
      model::parse_text(std::string(kHead) + "g (float x) => (float y) { y = Neg(x) }");
  const auto shared = std::make_shared<const model::Model>(*model);
  const auto compiled = compile(shared);
  const auto plan = (*compiled)->plan_under({});
  EXPECT_EQ(journal_of(*shared, **plan).error().code, "SDX-J0001");
}

TEST(Journal, the_example_is_complete_at_every_level) {
  const auto model = model::read_file(SDX_SOURCE_DIR "/examples/digits/digits.onnx");
  ASSERT_TRUE(model);
  for (const bool optimize : {false, true}) {
    for (const Bindings& set : {Bindings{}, Bindings{{"N", 1}}}) {
      CompileOptions options;
      options.optimize = optimize;
      options.set = set;
      expect_complete(made_of(*model, options), "digits");
    }
  }
}

TEST(Journal, every_model_of_the_suites_is_complete) {
  const std::string root = "/usr/lib/python3/dist-packages/onnx/backend/test/data";
  if (!fs::exists(root)) GTEST_SKIP() << "libonnx-testdata is not installed";
  size_t models = 0, steps = 0, nodes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".onnx" || entry.file_size() > 1 << 20) continue;
    const auto model = model::read_file(entry.path().string());
    ASSERT_TRUE(model);
    const Made made = made_of(*model);
    if (!made.journal) continue;  // what does not compile is another test's
    expect_complete(made, entry.path().string());
    ++models;
    steps += made.journal->steps.size();
    nodes += made.journal->nodes.size();
  }
  EXPECT_GT(models, 1000U);
  std::printf("%zu models: %zu steps and %zu nodes traced\n", models, steps, nodes);
}

}  // namespace
}  // namespace sdx
