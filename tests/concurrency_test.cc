// One compiled model, many threads: separate sessions agree, a run that is stopped or out of time
// ends soon and leaves its session usable, and a forked child goes on. Made to be run under the
// thread sanitizer too (cmake --preset tsan).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "sardonyx/sardonyx.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using sardonyx::Model;
using sardonyx::Outputs;
using sardonyx::Session;
using sardonyx::Tensor;

constexpr int kThreads = 8;

std::vector<float> numbers(size_t count, float first = -1) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + float(i % 13) / 8;
  return values;
}

Tensor pictures(int64_t count) {
  return Tensor({count, 1, 8, 8}, numbers(size_t(count) * 64, float(count)));
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.dims() == b.dims() && a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

const Model& digits() {
  static const Model model = Model::load(EXAMPLES "/digits/digits.onnx");
  return model;
}

// Doubles and halves x as often as n says, in a Loop with an If in it.
const Model& loops() {
  static const Model model = Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N] x, int64 n) => (float[N] y) <bool yes = {1}, float two = {2}> {
    y = Loop <body = l (int64 i, bool go, float[N] s) => (bool on, float[N] r) {
      on = Identity(go)
      even = Cast <to = 9> (i)
      r = If <then_branch = a () => (float[N] p) { p = Mul(s, two) },
              else_branch = b () => (float[N] q) { q = Div(s, two) }> (even)
    }> (n, yes, x)
  })");
  return model;
}

Tensor times(int64_t n) { return Tensor({}, std::array<int64_t, 1>{n}); }
constexpr int64_t kForever = int64_t{1} << 40;

TEST(Concurrency, sessions_of_one_model_with_different_shapes_agree) {
  const Session original = digits().compile({.threads = 2, .plans = 2});
  std::vector<Tensor> expected;
  for (int64_t count = 1; count <= 4; ++count) {
    Session alone = digits().compile({.threads = 1});
    const Tensor input = pictures(count);
    expected.push_back(alone.run({{"picture", input}})[0]);
  }
  std::atomic<int> wrong{0};
  in_threads(kThreads, [&](int t) {
    Session session = original.another();
    for (int i = 0; i < 12; ++i) {
      const int64_t count = 1 + (i + t) % 4;
      const Tensor input = pictures(count);
      wrong += equal(session.run({{"picture", input}})[0], expected[size_t(count - 1)]) ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, subgraphs_run_in_many_sessions_at_once) {
  const Session original = loops().compile({.threads = 2});
  const Tensor x({5}, numbers(5)), n = times(7);
  const Tensor expected = original.another().run({{"x", x}, {"n", n}})[0];
  std::atomic<int> wrong{0};
  in_threads(kThreads, [&](int) {
    Session session = original.another();
    for (int i = 0; i < 5; ++i)
      wrong += equal(session.run({{"x", x}, {"n", n}})[0], expected) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, one_model_is_loaded_checked_and_compiled_by_many) {
  const Tensor input = pictures(2);
  const Tensor expected = digits().compile({.threads = 1}).run({{"picture", input}})[0];
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    const Model model = t % 2 == 0 ? digits() : Model::load(EXAMPLES "/digits/digits.onnx");
    wrong += model.check().empty() ? 0 : 1;
    Session session = model.compile({.threads = 2});
    wrong += equal(session.run({{"picture", input}})[0], expected) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, runs_that_are_stopped_end_soon_and_their_sessions_go_on) {
  const Session original = loops().compile({.threads = 2});
  const Tensor x({5}, numbers(5));
  std::atomic<bool> stop{false};
  std::atomic<int> running{0}, wrong{0};
  Clock::time_point stopped;
  std::thread stopper([&] {
    while (running < 4) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    stopped = Clock::now();
    stop = true;
  });
  in_threads(4, [&](int) {
    Session session = original.another();
    ++running;
    const std::array<sardonyx::NamedValue, 2> forever = {{{"x", x}, {"n", times(kForever)}}};
    const auto ended = session.try_run(forever, {.stop = &stop, .loop_limit = kForever});
    wrong += !ended && ended.error().code() == "SDX-R0030" ? 0 : 1;
    const auto again =
        session.try_run(std::array<sardonyx::NamedValue, 2>{{{"x", x}, {"n", times(2)}}});
    wrong += again ? 0 : 1;
  });
  const auto took = Clock::now() - stopped;
  stopper.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(took, 5s);
}

TEST(Concurrency, runs_out_of_time_end_soon_and_their_sessions_go_on) {
  const Session original = loops().compile({.threads = 2});
  const Tensor x({5}, numbers(5));
  std::atomic<int> wrong{0};
  const Clock::time_point start = Clock::now();
  in_threads(4, [&](int) {
    Session session = original.another();
    const std::array<sardonyx::NamedValue, 2> forever = {{{"x", x}, {"n", times(kForever)}}};
    const auto ended = session.try_run(forever, {.time_limit = 30ms, .loop_limit = kForever});
    wrong += !ended && ended.error().code() == "SDX-R0031" ? 0 : 1;
    wrong +=
        session.try_run(std::array<sardonyx::NamedValue, 2>{{{"x", x}, {"n", times(2)}}}) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST(Concurrency, a_child_forked_while_others_run_goes_on_with_its_session) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer knows no new threads in a child of several";
#endif
  const Tensor input = pictures(3);
  Session session = digits().compile({.threads = 2});
  const Tensor expected = session.run({{"picture", input}})[0];
  std::atomic<bool> done{false};
  std::thread other([&] {
    Session more = session.another();
    while (!done) (void)more.run({{"picture", input}});
  });
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(equal(session.run({{"picture", input}})[0], expected) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(equal(session.run({{"picture", input}})[0], expected));
  }
  done = true;
  other.join();
}

}  // namespace
