// FEATURES T3, T5, O6, O12 at run time: symbols bound, defaults overridden, assertions checked.
#include <gtest/gtest.h>

#include "api/engine.h"
#include "infer/test_infer.h"

namespace sdx::infer::test {
namespace {

Result<std::shared_ptr<const plan::Compiled>> compiled(model::Model model,
                                                       CompileOptions options = {}) {
  options.threads = 1;
  return compile(std::make_shared<const model::Model>(std::move(model)), options);
}

Value ones(const Dims& dims) {
  Tensor tensor = Tensor::make(DType::f32, dims);
  std::fill_n(tensor.data<float>(), tensor.count(), 1.0F);
  return tensor;
}

// y = MatMul(a [N,T], b [T,M]).
model::Model product() {
  return with_graph(
      {declared("a", DType::f32, {{"N", "T"}}), declared("b", DType::f32, {{"T", "M"}})},
      {node("MatMul", {"a", "b"}, {"y"})}, {declared("y", DType::f32, {{"N", "M"}})});
}

TEST(Symbols, one_compiled_model_serves_any_sizes_from_a_bounded_cache) {
  const auto model = compiled(product());
  ASSERT_TRUE(model) << model.error().text();
  run::Session session(*model);
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n <= 12; ++n) {
      const auto y = session.run(std::vector<Value>{ones({n, 3 * n}), ones({3 * n, 2})});
      ASSERT_TRUE(y) << y.error().text();
      EXPECT_EQ((*y)[0].tensor().dims(), (Dims{n, 2}));
      EXPECT_EQ((*y)[0].tensor().data<float>()[0], float(3 * n));
    }
  }
}

TEST(Symbols, a_mismatch_at_run_names_both_inputs) {
  const auto model = compiled(product());
  ASSERT_TRUE(model);
  const auto y = run::Session(*model).run(std::vector<Value>{ones({2, 3}), ones({4, 2})});
  ASSERT_FALSE(y);
  const std::string text = y.error().text();
  EXPECT_NE(text.find("input \"b\""), std::string::npos) << text;
  EXPECT_NE(text.find("input \"a\" dimension 1"), std::string::npos) << text;
}

TEST(Symbols, an_equality_that_was_learnt_is_checked_when_sizes_are_bound) {
  model::Model m =
      with_graph({declared("a", DType::f32, {{"N", "K"}}), declared("b", DType::f32, {{"L", "M"}})},
                 {node("MatMul", {"a", "b"}, {"y"})}, {declared("y", DType::f32)});
  const auto model = compiled(m);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_TRUE(run::Session(*model).run(std::vector<Value>{ones({2, 3}), ones({3, 2})}));
  const auto y = run::Session(*model).run(std::vector<Value>{ones({2, 3}), ones({4, 2})});
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().what, "\"K == L\" does not hold: K = 3, L = 4 (required by node (MatMul))");
}

TEST(Assertions, are_checked_at_run_time_and_named) {
  CompileOptions options;
  options.assertions = {"N<=4", "T%2==0"};
  const auto model = compiled(product(), options);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_TRUE(run::Session(*model).run(std::vector<Value>{ones({4, 2}), ones({2, 2})}));
  const auto high = run::Session(*model).run(std::vector<Value>{ones({5, 2}), ones({2, 2})});
  ASSERT_FALSE(high);
  EXPECT_EQ(high.error().what, "\"N<=4\" does not hold: N = 5 (asserted)");
  const auto odd = run::Session(*model).run(std::vector<Value>{ones({1, 3}), ones({3, 2})});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().what, "\"T%2==0\" does not hold: T = 3 (asserted)");
  options.set = {{"N", 5}};
  EXPECT_FALSE(compiled(product(), options));
}

TEST(Backward, a_model_without_input_shapes_runs_and_refuses_what_cannot_be) {
  model::Model m = with_graph({declared("x", DType::undefined)}, {node("Gemm", {"x", "w"}, {"y"})},
                              {declared("y", DType::undefined)});
  m.graph->initializer = {weight("w", {3, 2})};
  const auto model = compiled(m);
  ASSERT_TRUE(model) << model.error().text();
  const auto y = run::Session(*model).run(std::vector<Value>{ones({5, 3})});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor().dims(), (Dims{5, 2}));
  const auto wrong = run::Session(*model).run(std::vector<Value>{ones({5, 4})});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what.find("dimension 1 is 4, not 3"), std::string::npos);
}

TEST(Defaults, an_initializer_is_used_or_overridden) {
  model::Model m = simple();  // relu(x + w), w of ones
  m.graph->input.push_back(value("w"));
  const auto fixed = compiled(m);
  ASSERT_TRUE(fixed) << fixed.error().text();
  const auto y = run::Session(*fixed).run(std::vector<Value>{ones({2, 3})});
  ASSERT_TRUE(y);
  EXPECT_EQ((*y)[0].tensor().data<float>()[0], 2.0F);
  CompileOptions options;
  options.overridden = {"w"};
  const auto open = compiled(m, options);
  ASSERT_TRUE(open) << open.error().text();
  Tensor w = Tensor::make(DType::f32, {2, 3});
  std::fill_n(w.data<float>(), 6, 5.0F);
  const auto z = run::Session(*open).run(std::vector<Value>{ones({2, 3}), w});
  ASSERT_TRUE(z);
  EXPECT_EQ((*z)[0].tensor().data<float>()[0], 6.0F);
}

TEST(Declared, a_rank_taken_from_a_declaration_does_not_plan_memory) {
  // The declaration says [6], the data says [3,2]: what runs is the data.
  model::Model m = with_graph({value("x"), declared("to", DType::i64, {{"K"}})},
                              {node("Reshape", {"x", "to"}, {"r"}), node("Relu", {"r"}, {"y"})},
                              {declared("y", DType::f32, {{"6"}})});
  const auto model = compiled(m);
  ASSERT_TRUE(model) << model.error().text();
  const auto y =
      run::Session(*model).run(std::vector<Value>{ones({2, 3}), Tensor::of<int64_t>({2}, {3, 2})});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor().dims(), (Dims{3, 2}));
}

}  // namespace
}  // namespace sdx::infer::test
