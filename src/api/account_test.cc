// One account of memory for a run and all subgraphs in it.
#include <gtest/gtest.h>

#include "sardonyx/sardonyx.h"

namespace {

using sardonyx::Tensor;

constexpr size_t kLimit = 1'500'000;
constexpr const char* kHeader = "<ir_version: 9, opset_import: [\"\" : 17]>\n";

// A branch that needs a megabyte while it runs, and what is in it beside that.
std::string branch(const std::string& name, const std::string& inner = "",
                   const std::string& added = "x") {
  return name + " () => (float[1] r_" + name + ") { e_" + name + " = Expand(x, s) g_" + name +
         " = Sigmoid(e_" + name + ") " + inner + " m_" + name + " = ReduceMax(g_" + name + ") r_" +
         name + " = Add(m_" + name + ", " + added + ") }";
}

std::string choice(const std::string& output, const std::string& then) {
  return output + " = If (c) <then_branch = " + then + ", else_branch = no_" + output +
         " () => (float[1] n_" + output + ") { n_" + output + " = Neg(x) }> ";
}

// The error's code, "" if there is none.
std::string run(const std::string& text, const std::vector<sardonyx::NamedValue>& inputs) {
  const auto model = sardonyx::Model::from_text(kHeader + text);
  auto session = model.compile({.threads = 1, .optimize = false, .arena_bytes = kLimit});
  auto outputs = session.try_run(inputs);
  return outputs ? "" : outputs.error().code();
}

std::vector<sardonyx::NamedValue> x_and_c() {
  Tensor c(sardonyx::Type::boolean, {});
  c.values<bool>()[0] = true;
  return {{"x", Tensor({1}, {1.0F})}, {"c", c}};
}

TEST(Account, subgraphs_one_after_another_use_the_same_room) {
  std::string text = "g (float[1] x, bool c) => (float[1] y) <int64[1] s = {250000}> { ";
  for (const char* name : {"a", "b", "d"}) text += choice(name, branch(std::string("p") + name));
  EXPECT_EQ(run(text + "y = Sum(a, b, d) }", x_and_c()), "");
}

TEST(Account, subgraphs_within_each_other_add_up) {
  const std::string text = "g (float[1] x, bool c) => (float[1] y) <int64[1] s = {250000}> { ";
  EXPECT_EQ(run(text + choice("y", branch("one")) + "}", x_and_c()), "");
  const std::string inner = choice("q", branch("two"));
  EXPECT_EQ(run(text + choice("y", branch("one", inner, "q")) + "}", x_and_c()), "SDX-R0021");
}

TEST(Account, what_goes_round_a_loop_and_what_it_gathers_counts) {
  const auto loop = [](int trips, const std::string& body, const char* output) {
    return "g (float[100] x) => (float[N] y) <int64 m = {" + std::to_string(trips) +
           "}, bool go = {1}> { " + output + " = Loop (m, go, x) <body = l (int64 i, bool k, " +
           "float[M] v) => " + body + "> }";
  };
  const std::vector<sardonyx::NamedValue> x = {{"x", Tensor(sardonyx::Type::f32, {100})}};
  const std::string grows = "(bool d, float[K] w) { d = Identity(k) w = Concat <axis = 0> (v, v) }";
  EXPECT_EQ(run(loop(3, grows, "y"), x), "");
  EXPECT_EQ(run(loop(40, grows, "y"), x), "SDX-R0020") << "a tensor alone is more than that";
  const std::string gathers =
      "(bool d, float[M] w, float[M] t) { d = Identity(k) w = Neg(v) t = Abs(v) }";
  const auto gathered = [&](int trips) {
    std::string text = loop(trips, gathers, "last, all");
    text.replace(text.find("float[N] y"), 10, "float[A,B] all");
    return run(text, x);
  };
  EXPECT_EQ(gathered(10), "");
  EXPECT_EQ(gathered(1'000'000), "SDX-R0021");
}

}  // namespace
