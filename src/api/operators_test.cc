// Users' operators, from the public headers alone.
#include "sardonyx/operators.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using namespace sardonyx;  // NOLINT: as a user's program

// y = by * x + shift, f32, with an optional second input.
Operator scale(std::string domain) {
  return {.domain = std::move(domain),
          .name = "Scale",
          .history = {{1, "(x: T, shift?: T) -> (y: T) {by: float = 2.0} T in f32"},
                      {2, "{by: float = 3.0}"}},
          .compute = [](const Call& call, std::span<const Tensor> in, std::span<Tensor> out) {
            const auto x = in[0].values<float>();
            const auto y = out[0].values<float>();
            const bool shifted = in.size() > 1 && in[1].type() != Type::undefined;
            for (size_t i = 0; i < x.size(); ++i) {
              y[i] = call.real("by") * x[i] + (shifted ? in[1].values<float>()[0] : 0);
            }
          }};
}

std::string text_of(std::string_view domain, std::string_view nodes, int version = 1) {
  std::string text = "<ir_version: 10, opset_import: [\"\" : 21, \"";
  text += domain;
  text += "\" : " + std::to_string(version) + "]> g (float[N] x) => (float[N] y) { ";
  text += nodes;
  return text + " }";
}

std::vector<float> run(const Model& model, std::initializer_list<float> x, Options options = {}) {
  options.threads = 1;
  Session session = model.compile(options);
  const Outputs outputs = session.run({{"x", Tensor({static_cast<int64_t>(x.size())}, x)}});
  const auto y = outputs["y"].values<float>();
  return {y.begin(), y.end()};
}

TEST(Operators, a_users_operator_is_checked_inferred_planned_and_run) {
  register_operator(scale("t1"));
  const Model model = Model::from_text(
      text_of("t1", "a = t1.Scale <by: float = 4.0> (x) b = Relu (a) y = t1.Scale (b)"));
  EXPECT_TRUE(model.check().empty());
  Session session = model.compile();
  EXPECT_EQ(session.outputs()[0].text, "f32[N]");
  for (const bool optimize : {false, true}) {
    EXPECT_EQ(run(model, {1, -1, 3}, {.optimize = optimize}), (std::vector<float>{8, 0, 24}));
  }
}

TEST(Operators, the_imported_version_selects_the_signature) {
  register_operator(scale("t2"));
  EXPECT_EQ(run(Model::from_text(text_of("t2", "y = t2.Scale (x)", 1)), {1}), std::vector{2.0f});
  EXPECT_EQ(run(Model::from_text(text_of("t2", "y = t2.Scale (x)", 2)), {1}), std::vector{3.0f});
}

TEST(Operators, uses_that_break_the_signature_are_refused) {
  register_operator(scale("t3"));
  const std::pair<const char*, const char*> cases[] = {
      {"y = t3.Scale ()", "SDX-"},
      {"y = t3.Scale (x, x, x)", "SDX-"},
      {"y = t3.Scale <no: int = 3> (x)", "no"},
      {"y = t3.Scale <by: int = 3> (x)", "by"},
      {"i = Cast <to: int = 7> (x) j = t3.Scale (i) y = Cast <to: int = 1> (j)", "T"},
      {"y = t3.Shrink (x)", "Shrink"},
  };
  for (const auto& [nodes, reason] : cases) {
    const auto errors = Model::from_text(text_of("t3", nodes)).check();
    ASSERT_FALSE(errors.empty()) << nodes;
    EXPECT_NE(std::string(errors[0].what()).find(reason), std::string::npos) << errors[0].what();
  }
}

TEST(Operators, functions_in_text_use_operators_and_each_other) {
  register_operator(scale("t4"));
  register_functions(R"(
    <domain: "t4", opset_import: ["" : 21, "t4" : 1]>
    Twice <by: float = 5.0> (x) => (y) { t = t4.Scale <by: float = @by> (x) y = t4.Half (t) }
    <domain: "t4", opset_import: ["" : 21]>
    Half (x) => (y) { h = Constant <value_float = 0.5> () y = Mul (x, h) }
  )");
  EXPECT_EQ(run(Model::from_text(text_of("t4", "y = t4.Twice (x)")), {2}), std::vector{5.0f});
  EXPECT_EQ(run(Model::from_text(text_of("t4", "y = t4.Twice <by: float = 1.0> (x)")), {2}),
            std::vector{1.0f});
}

TEST(Operators, an_exception_in_the_code_ends_the_run_with_an_error) {
  Operator op = scale("t5");
  op.deterministic = false;
  op.compute = [](const Call&, std::span<const Tensor>, std::span<Tensor>) {
    throw std::runtime_error("out of ink");
  };
  register_operator(std::move(op));
  Session session = Model::from_text(text_of("t5", "y = t5.Scale (x)")).compile();
  const NamedValue input{"x", Tensor({1}, {1.0f})};
  const auto outputs = session.try_run(std::span(&input, 1));
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code(), "SDX-A0022");
  EXPECT_NE(outputs.error().message().find("t5.Scale: out of ink"), std::string::npos);
}

TEST(Operators, outputs_of_unknown_size_and_constant_inputs) {
  register_operator({.domain = "t6",
                     .name = "Repeat",
                     .history = {{1, "(x: T, times: i64) -> (y: T) T in f32"}},
                     .infer =
                         [](const Call& call, std::span<const Port> inputs) {
                           Port y;
                           y.type = inputs[0].type;
                           y.dims = {Size{}};
                           const auto times = call.constant(1);
                           const Size& n = (*inputs[0].dims)[0];
                           if (times && n.number) {
                             y.dims = {Size{*n.number * times->values<int64_t>()[0], ""}};
                           }
                           return std::vector<Port>{y};
                         },
                     .compute =
                         [](const Call&, std::span<const Tensor> in, std::span<Tensor> out) {
                           std::vector<float> all;
                           for (int64_t i = 0; i < in[1].values<int64_t>()[0]; ++i) {
                             const auto x = in[0].values<float>();
                             all.insert(all.end(), x.begin(), x.end());
                           }
                           if (out[0].type() == Type::undefined) {
                             out[0] = Tensor({static_cast<int64_t>(all.size())}, all);
                           } else {
                             std::copy(all.begin(), all.end(), out[0].values<float>().begin());
                           }
                         }});
  const Model fixed = Model::from_text(
      "<ir_version: 10, opset_import: [\"\" : 21, \"t6\" : 1]> g (float[2] x) => (float[M] y) "
      "{ k = Constant <value_int: int = 3> () y = t6.Repeat (x, k) }");
  EXPECT_EQ(fixed.compile().outputs()[0].text, "f32[6]");
  EXPECT_EQ(run(fixed, {1, 2}), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  const Model open = Model::from_text(
      "<ir_version: 10, opset_import: [\"\" : 21, \"t6\" : 1]> g (float[N] x) => (float[M] y) "
      "{ n = NonZero (x) k = Size (n) t = t6.Repeat (x, k) y = Neg (t) }");
  EXPECT_EQ(run(open, {0, 5}), (std::vector<float>{0, -5}));
  EXPECT_EQ(run(open, {4, 5}), (std::vector<float>{-4, -5, -4, -5}));
}

TEST(Operators, bad_registrations_are_refused) {
  register_operator(scale("t7"));
  const auto code = [](const std::optional<Error>& error) { return error ? error->code() : ""; };
  EXPECT_EQ(code(try_register_operator(scale("t7"))), "SDX-O0003");
  EXPECT_EQ(code(try_register_operator(scale(""))), "SDX-A0023");
  Operator op = scale("t8");
  op.history = {{1, "(x: T -> y"}};
  EXPECT_EQ(code(try_register_operator(op)), "SDX-O0001");
  op.history = {{2, "(x: T) -> (y: T) T in f32"}, {1, ""}};
  EXPECT_EQ(code(try_register_operator(op)), "SDX-O0002");
  op.history = {};
  EXPECT_EQ(code(try_register_operator(op)), "SDX-O0002");
  EXPECT_EQ(code(try_register_functions("f (x) => (y) { y = Neg (x) }")), "SDX-M0110");
  EXPECT_EQ(code(try_register_functions("f (x) => (y) {")), "SDX-M0101");
}

}  // namespace
