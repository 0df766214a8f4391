// How models run: subgraphs, open shapes, state, defaults, limits, threads. The models are those of
// scripts/make_run_models.py.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "api/engine.h"
#include "run/trace.h"
#include "sardonyx/sardonyx.h"

namespace sdx {
namespace {

using run::RunOptions;
using run::Session;

std::string file(const std::string& name) {
  return std::string(SDX_SOURCE_DIR) + "/tests/data/run/" + name + ".onnx";
}

std::shared_ptr<const plan::Compiled> compiled(const std::string& name,
                                               CompileOptions options = {}) {
  if (options.threads == 0) options.threads = 1;
  auto model = model::read_file(file(name));
  EXPECT_TRUE(model) << model.error().text();
  auto made = compile(*model, options);
  EXPECT_TRUE(made) << made.error().text();
  return *made;
}

Tensor ramp(Dims dims, float first = -1, float step = 0.25) {
  Tensor tensor = Tensor::make(DType::f32, std::move(dims));
  for (size_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = std::fmod(first + step * float(i), 3.0F);
  return tensor;
}

std::vector<Value> run_once(const std::string& name, const std::vector<Value>& inputs,
                            const CompileOptions& options = {}) {
  auto results = Session(compiled(name, options)).run(inputs);
  EXPECT_TRUE(results) << results.error().text();
  return results ? *results : std::vector<Value>{};
}

void expect_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(equal(a[i], b[i])) << "output " << i;
}

TEST(Loop, a_carried_value_may_grow_with_each_iteration) {
  const std::vector<Value> inputs = {ramp({2}, 1, 1), Tensor::scalar<int64_t>(4),
                                     Tensor::of<float>({1}, {10})};
  const auto results = run_once("grow", inputs);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].tensor(), Tensor::of<float>({6}, {1, 2, 0, 10, 20, 30}));
  EXPECT_EQ(results[1].tensor(), Tensor::of<float>({4, 1}, {3, 13, 33, 63}));
  CompileOptions plain;
  plain.optimize = false;
  plain.reference = true;
  expect_equal(results, run_once("grow", inputs, plain));
}

TEST(Loop, that_never_runs_gives_its_initial_values) {
  const auto results =
      run_once("grow", {ramp({3}), Tensor::scalar<int64_t>(0), Tensor::of<float>({1}, {10})});
  EXPECT_EQ(results[0].tensor(), ramp({3}));
  EXPECT_EQ(results[1].tensor().dims(), (Dims{0, 1}));
}

TEST(Loop, bodies_see_the_wires_of_every_graph_around_them) {
  const std::vector<float> x = {0.5F, -1, 2};
  std::vector<float> v = {1, 2, 3}, peaks;
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> outer = v;
    for (int j = 0; j < 3; ++j) {
      for (size_t k = 0; k < 3; ++k)
        v[k] = ((i + j) % 2 != 0 ? v[k] * x[k] : v[k] - x[k]) + outer[k];
    }
    peaks.push_back(*std::max_element(v.begin(), v.end()));
  }
  const auto results =
      run_once("nested", {Tensor::of<float>({3}, std::span<const float>(x)),
                          Tensor::of<float>({3}, {1, 2, 3}), Tensor::scalar<int64_t>(2)});
  EXPECT_EQ(results[0].tensor(), Tensor::of<float>({3}, std::span<const float>(v)));
  EXPECT_EQ(results[1].tensor(), Tensor::of<float>({2}, std::span<const float>(peaks)));
}

// Sums the steps of the graph and of its bodies.
struct Counter : run::Observer {
  size_t steps = 0;
  void after(uint32_t, const typed::Node&, std::span<const View>) override { ++steps; }
  Observer* inside(const typed::Node&, const typed::Graph&) override { return this; }
};

TEST(Loop, bodies_are_planned_once_and_their_steps_fused) {
  const auto model = compiled("forever");
  Session session(model);
  Counter counter;
  const std::vector<Value> inputs = {ramp({16, 16}), Tensor::scalar<int64_t>(10)};
  ASSERT_TRUE(session.run(inputs, {.observer = &counter}));
  // The Loop, and ten times a product that runs Tanh in its kernel; the condition is a view.
  EXPECT_EQ(counter.steps, 11U);
}

TEST(Loop, ends_at_the_limit_of_iterations_and_the_session_goes_on) {
  Session session(compiled("forever"));
  const std::vector<Value> inputs = {ramp({16, 16}), Tensor::scalar<int64_t>(100)};
  RunOptions options;
  options.most_iterations = 99;
  const auto stopped = session.run(inputs, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, "SDX-R0610");
  options.most_iterations = 100;
  EXPECT_TRUE(session.run(inputs, options));
}

TEST(Deadline, ends_a_run_inside_a_loop_and_the_session_goes_on) {
  Session session(compiled("forever"));
  std::vector<Value> inputs = {ramp({16, 16}), Tensor::scalar<int64_t>(INT64_MAX)};
  RunOptions options;
  const auto start = RunOptions::Clock::now();
  options.deadline = start + std::chrono::milliseconds(50);
  const auto ended = session.run(inputs, options);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, "SDX-R0031");
  EXPECT_LT(RunOptions::Clock::now() - start, std::chrono::seconds(5));
  inputs[1] = Tensor::scalar<int64_t>(3);
  const auto again = session.run(inputs);
  ASSERT_TRUE(again);
  expect_equal(*again, run_once("forever", inputs));
}

TEST(Stop, ends_a_run_from_another_thread) {
  Session session(compiled("forever"));
  std::atomic<bool> stop{false};
  RunOptions options;
  options.stop = &stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop = true;
  });
  const std::vector<Value> inputs = {ramp({16, 16}), Tensor::scalar<int64_t>(INT64_MAX)};
  const auto ended = session.run(inputs, options);
  other.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, "SDX-R0030");
}

TEST(Arena, beyond_its_limit_is_an_error_that_says_so) {
  CompileOptions options;
  options.threads = 1;
  options.most_arena_bytes = 10000;
  Session session(compiled("lengths", options));
  EXPECT_TRUE(session.run(std::vector<Value>{ramp({1, 2, 32})}));
  const auto large = session.run(std::vector<Value>{ramp({4, 500, 32})});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, "SDX-R0020");
  EXPECT_TRUE(session.run(std::vector<Value>{ramp({1, 2, 32})}));
}

TEST(Plans, a_hundred_lengths_share_packed_weights_and_keep_a_few_plans) {
  CompileOptions options;
  options.most_plans = 4;
  const auto model = compiled("lengths", options);
  Session session(model);
  size_t packs = 0;
  for (int64_t length = 1; length <= 100; ++length) {
    const std::vector<Value> inputs = {ramp({1 + length % 3, length, 32})};
    const auto results = session.run(inputs);
    ASSERT_TRUE(results) << results.error().text();
    if (length == 1) packs = model->packs();
    EXPECT_EQ(model->packs(), packs);
    EXPECT_LE(model->plans(), 4U);
    if (length % 10 == 0) expect_equal(*results, run_once("lengths", inputs));
  }
  EXPECT_EQ(packs, 2U);
  EXPECT_EQ(model->plans_made(), 100U);
  // The last few are still there.
  ASSERT_TRUE(session.run(std::vector<Value>{ramp({2, 100, 32})}));
  EXPECT_EQ(model->plans_made(), 100U);
}

TEST(Sizes_from_data, run_through_the_same_plan) {
  const auto model = compiled("from_data");
  Session session(model);
  for (const int64_t rows : {1, 5, 12, 5}) {
    for (const float first : {-2.0F, 0.5F}) {
      const std::vector<Value> inputs = {ramp({rows, 8}, first, 0.125)};
      const auto results = session.run(inputs);
      ASSERT_TRUE(results) << results.error().text();
      CompileOptions plain;
      plain.optimize = false;
      plain.reference = true;
      expect_equal(*results, run_once("from_data", inputs, plain));
    }
  }
}

TEST(Order, twenty_random_orders_give_equal_bytes) {
  const std::vector<Value> inputs = {ramp({2, 7, 32})}, rows = {ramp({9, 8}, -2, 0.125)};
  const auto expected = run_once("lengths", inputs);
  const auto expected_rows = run_once("from_data", rows);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool optimize : {false, true}) {
      CompileOptions options;
      options.order = seed;
      options.optimize = optimize;
      expect_equal(run_once("lengths", inputs, options), expected);
      expect_equal(run_once("from_data", rows, options), expected_rows);
    }
  }
}

TEST(Trace, shows_every_transition_once_and_in_a_valid_order) {
  std::vector<std::string> lines;
  run::Trace trace([&](const std::string& line) { lines.push_back(line); }, {});
  CompileOptions plain;
  plain.optimize = false;
  Session session(compiled("defaults", plain));
  ASSERT_TRUE(session.run(std::vector<Value>{ramp({1, 2})}, {.observer = &trace}));
  const std::vector<std::string> expected = {
      "defined     x f32[1,2] (input)",
      "defined     w f32[2,2] (constant)",
      "executable  a (MatMul)",
      "defined     gain2 f32[1] (constant)",
      "executes    a (MatMul)",
      "defined     %2 f32[1,2]",
      "executable  y (Mul)",
      "executes    y (Mul)",
      "defined     y f32[1,2]",
  };
  const auto at = [&](const std::string& start) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const std::string& line) { return line.starts_with(start); }) -
           lines.begin();
  };
  EXPECT_EQ(lines.size(), expected.size()) << fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_LT(at("defined     x"), at("executable  a"));
  EXPECT_LT(at("executable  a"), at("executes    a"));
  EXPECT_LT(at("executes    a"), at("executable  y"));
  EXPECT_LT(at("executes    y"), at("defined     y"));
  EXPECT_LT(at("defined     y"), ptrdiff_t(lines.size()));
}

TEST(Isa, belongs_to_the_compiled_model) {
  CompileOptions options;
  options.isa = Isa::portable;
  const auto portable = compiled("lengths", options);
  const std::vector<Value> inputs = {ramp({1, 9, 32})};
  const auto native = run_once("lengths", inputs);
  const auto results = Session(portable).run(inputs);
  ASSERT_TRUE(results);
  expect_equal(*results, native);
}

TEST(Threads, many_sessions_of_one_model_run_at_once) {
  CompileOptions options;
  options.threads = 2;
  options.most_plans = 3;
  for (const std::string name : {"lengths", "nested"}) {
    const auto model = compiled(name, options);
    const auto inputs = [&](int64_t length) -> std::vector<Value> {
      if (name == "lengths") return {ramp({1, length, 32})};
      return {ramp({length}), ramp({length}, 0, 0.5), Tensor::scalar<int64_t>(2)};
    };
    std::vector<std::vector<Value>> expected;
    for (int64_t length = 1; length <= 5; ++length)
      expected.push_back(run_once(name, inputs(length)));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Session session(model);
        for (int i = 0; i < 20; ++i) {
          const int64_t length = 1 + (i + t) % 5;
          const auto results = session.run(inputs(length));
          wrong += !results || !equal((*results)[0], expected[size_t(length - 1)][0]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << name;
  }
}

TEST(Fork, a_child_goes_on_with_its_parents_session) {
  CompileOptions options;
  options.threads = 2;
  Session session(compiled("lengths", options));
  const std::vector<Value> inputs = {ramp({2, 64, 32})};
  const auto expected = session.run(inputs);
  ASSERT_TRUE(expected);
  const pid_t child = fork();
  if (child == 0) {
    const auto results = session.run(inputs);
    _exit(results && equal((*results)[0], (*expected)[0]) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sdx

namespace sardonyx {
namespace {

Session session(const std::string& name) {
  return Model::load(sdx::file(name)).compile({.threads = 1});
}

std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

TEST(State, goes_from_one_run_to_the_next) {
  Session s = session("state");
  s.keep("sum_out", "sum_in");
  s.keep("count_out", "count_in");
  EXPECT_FALSE(s.try_run(std::vector<NamedValue>{{"x", Tensor({3}, {1.0F, 2.0F, 3.0F})}}));
  s.set_state("sum_in", Tensor({3}, {0.0F, 0.0F, 0.0F}));
  s.set_state("count_in", Tensor({1}, {0.0F}));
  s.run({{"x", Tensor({3}, {1.0F, 2.0F, 3.0F})}});
  // A kept output is computed even where nobody asks for it, and the others are not.
  const Outputs second = s.run({{"x", Tensor({3}, {3.0F, 2.0F, 1.0F})}}, {.outputs = {"mean"}});
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(floats(second["mean"]), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(floats(s.state("sum_in")->tensor()), (std::vector<float>{4, 4, 4}));
  const Outputs given =
      s.run({{"x", Tensor({3}, {0.0F, 0.0F, 0.0F})}, {"sum_in", Tensor({3}, {9.0F, 9.0F, 9.0F})}});
  EXPECT_EQ(floats(given["mean"]), (std::vector<float>{3, 3, 3}));
  Session other = s.another();
  EXPECT_FALSE(other.state("sum_in"));
  s.forget_state();
  EXPECT_FALSE(s.state("sum_in"));
  EXPECT_THROW(s.keep("mean", "nothing"), Error);
  EXPECT_THROW(s.keep("nothing", "x"), Error);
}

TEST(Defaults, of_the_model_hold_unless_the_caller_gives_others) {
  Session s = session("defaults");
  const Tensor x({1, 2}, {1.0F, 2.0F}), w({2, 2}, {0.0F, 1.0F, 1.0F, 0.0F}), gain({1}, {3.0F});
  EXPECT_EQ(s.inputs().size(), 1U);
  EXPECT_EQ(floats(s.run({{"x", x}})["y"]), (std::vector<float>{4, 8}));
  EXPECT_EQ(floats(s.run({{"x", x}, {"w", w}})["y"]), (std::vector<float>{8, 4}));
  EXPECT_EQ(floats(s.run({{"x", x}, {"gain", gain}})["y"]), (std::vector<float>{9, 18}));
  EXPECT_EQ(floats(s.run({{"gain", gain}, {"x", x}, {"w", w}})["y"]), (std::vector<float>{18, 9}));
  EXPECT_EQ(floats(s.run({{"x", x}})["y"]), (std::vector<float>{4, 8}));
  EXPECT_THROW(s.run({{"x", x}, {"v", w}}), Error);
}

TEST(Outputs, only_those_asked_for_are_computed) {
  Session s = session("state");
  const Tensor three({3}, {1.0F, 1.0F, 1.0F}), one({1}, {0.0F});
  const Outputs outputs = s.run({{"x", three}, {"sum_in", three}, {"count_in", one}},
                                {.outputs = {"exp", "count_out"}});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs.name(0), "exp");
  EXPECT_EQ(floats(outputs["count_out"]), (std::vector<float>{1}));
  EXPECT_THROW(s.run({}, {.outputs = {"nothing"}}), Error);
}

TEST(Limits, are_options_of_a_run) {
  Session s = session("forever");
  const Tensor x(Type::f32, {16, 16}), times(Dims{}, std::vector<int64_t>{INT64_MAX});
  const NamedValue inputs[] = {{"x", x}, {"times", times}};
  const auto late = s.try_run(inputs, {.time_limit = std::chrono::milliseconds(20)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), "SDX-R0031");
  const auto round = s.try_run(inputs, {.loop_limit = 5});
  ASSERT_FALSE(round);
  EXPECT_EQ(round.error().code(), "SDX-R0610");
}

}  // namespace
}  // namespace sardonyx
