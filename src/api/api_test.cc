// The public header alone: what a user's program sees.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <atomic>
#include <cfenv>
#include <numeric>
#include <thread>

#include "sardonyx/sardonyx.h"

namespace {

using sardonyx::Tensor;
using sardonyx::Type;

// y = Softmax(x, axis 1) of f32[N,3] in ONNX's wire format, by hand: this test must not need a
// file.
std::string softmax_model() {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto integer = [](int number, int value) {
    return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
  };
  const std::string shape = field(1, field(2, "N")) + field(1, integer(1, 3));
  const std::string type = field(1, integer(1, 1) + field(2, shape));
  const std::string axis = field(1, "axis") + integer(3, 1) + std::string("\xa0\x01\x02");
  const std::string node = field(1, "x") + field(2, "y") + field(4, "Softmax") + field(5, axis);
  const std::string graph = field(1, node) + field(2, "main") +
                            field(11, field(1, "x") + field(2, type)) +
                            field(12, field(1, "y") + field(2, type));
  return integer(1, 8) + field(7, graph) + field(8, field(1, "") + integer(2, 13));
}

sardonyx::Model model() {
  const std::string bytes = softmax_model();
  return sardonyx::Model::parse(std::as_bytes(std::span(bytes)));
}

TEST(Api, a_model_with_one_meaning_runs_with_a_note_unless_accept_is_strict) {
  const auto unsorted = sardonyx::Model::from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
main (float[3] x) => (float[3] y) {
  y = Relu (s)
  s = Add (x, x)
})");
  sardonyx::Session session = unsorted.compile({.threads = 1});
  const auto outputs = session.run({{"x", Tensor({3}, {1.0F, -2.0F, 3.0F})}});
  EXPECT_EQ(outputs["y"].values<float>()[2], 6.0F);
  ASSERT_EQ(session.notes().size(), 1U);
  EXPECT_TRUE(session.notes()[0].starts_with("accepted with 1 deviation: "));
  const auto strict = unsorted.try_compile({.accept = sardonyx::Accept::strict});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code(), "SDX-K0210");
  EXPECT_EQ(unsorted.check().size(), 1U);
}

TEST(Api, runs_by_name_and_gives_results_by_name_and_position) {
  sardonyx::Session session = model().compile({.threads = 1});
  const auto outputs = session.run({{"x", Tensor({2, 3}, {1.0F, 2.0F, 3.0F, 0.0F, 0.0F, 0.0F})}});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs.name(0), "y");
  EXPECT_EQ(outputs["y"].dims(), (sardonyx::Dims{2, 3}));
  const auto values = outputs[0].values<float>();
  EXPECT_NEAR(values[0], 0.09003F, 1e-5);
  EXPECT_EQ(values[3], values[4]);
  EXPECT_EQ(outputs[0].digest().size(), 64U);
}

TEST(Api, tells_the_signature) {
  const auto m = model();
  ASSERT_EQ(m.inputs().size(), 1U);
  EXPECT_EQ(m.inputs()[0].name, "x");
  EXPECT_EQ(m.inputs()[0].type, Type::f32);
  EXPECT_EQ((*m.inputs()[0].dims)[0].name, "N");
  EXPECT_EQ((*m.inputs()[0].dims)[1].number, 3);
  EXPECT_EQ(m.outputs()[0].name, "y");
  EXPECT_TRUE(m.check().empty());
}

TEST(Api, run_into_writes_where_it_is_told) {
  sardonyx::Session session = model().compile();
  std::vector<float> x = {1, 2, 3}, y(3);
  const Tensor in[] = {Tensor(Type::f32, {1, 3}, x.data())};
  Tensor out[] = {Tensor(Type::f32, {1, 3}, y.data())};
  session.run_into(in, out);
  EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0F), 1.0F, 1e-6);
  Tensor wrong[] = {Tensor(Type::f32, {3, 1})};
  const auto error = session.try_run_into(in, wrong);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "SDX-R0013");
}

TEST(Api, errors_carry_code_place_and_text) {
  const auto missing = sardonyx::Model::try_load("no/such/file.onnx");
  ASSERT_FALSE(missing);
  EXPECT_NE(std::string(missing.error().what()).find("no/such/file.onnx"), std::string::npos);
  EXPECT_THROW(sardonyx::Model::load("no/such/file.onnx"), sardonyx::Error);
  sardonyx::Session session = model().compile();
  try {
    session.run({{"z", Tensor({1, 3}, {1.0F, 2.0F, 3.0F})}});
    FAIL() << "an unknown input was taken";
  } catch (const sardonyx::Error& error) {
    EXPECT_EQ(error.code(), "SDX-A0002");
    EXPECT_NE(error.message().find("\"x\""), std::string::npos);
  }
  EXPECT_THROW(session.run({}), sardonyx::Error);
  EXPECT_THROW(session.run({{"x", Tensor({1, 4}, {1.0F, 2.0F, 3.0F, 4.0F})}}), sardonyx::Error);
  EXPECT_THROW(session.run({{"x", Tensor({1, 3}, {1, 2, 3})}}), sardonyx::Error);
  EXPECT_THROW(Tensor({2, 2}, {1.0F}), sardonyx::Error);
  EXPECT_THROW((void)Tensor({1}, {1.0F}).values<double>(), sardonyx::Error);
  EXPECT_THROW(Tensor(Type::f32, {-1}), sardonyx::Error);
}

TEST(Api, sessions_of_one_model_agree) {
  sardonyx::Session a = model().compile();
  sardonyx::Session b = a.another();
  sardonyx::Session c =
      model().compile({.threads = 3, .isa = sardonyx::Isa::portable, .optimize = false});
  const Tensor x({4, 3},
                 {0.1F, -2.0F, 3.5F, 7.0F, 1e-3F, -9.0F, 0.0F, 0.5F, 0.25F, 80.0F, -80.0F, 1.0F});
  const std::string digest = a.run({{"x", x}})[0].digest();
  EXPECT_EQ(b.run({{"x", x}})[0].digest(), digest);
  EXPECT_EQ(c.run({{"x", x}})[0].digest(), digest);
}

TEST(Api, a_run_leaves_the_hosts_floating_point_flags_as_they_were) {
  auto session = model().compile({.threads = 1});
  const sardonyx::NamedValue x[] = {{"x", Tensor({1, 3}, {0.1F, 0.7F, -103.5F})}};  // inexact
  for (const int before : {0, FE_OVERFLOW, FE_INEXACT | FE_DIVBYZERO}) {
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(before);
    (void)session.try_run(x);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), before);
  }
  std::feclearexcept(FE_ALL_EXCEPT);
}

#if defined(__x86_64__)
// A host that flushes denormals or rounds down gets the same bits, and its settings back.
TEST(Api, the_hosts_floating_point_settings_do_not_matter) {
  const Tensor x({1, 3}, {0.0F, -100.0F, -103.5F});  // exp(-100) and exp(-103.5) are denormal
  const std::string digest = model().compile().run({{"x", x}})[0].digest();
  const unsigned saved = _mm_getcsr();
  const unsigned odd = saved | 0x8040U | 0x2000U;
  _mm_setcsr(odd);
  const std::string under_odd = model().compile({.threads = 2}).run({{"x", x}})[0].digest();
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_EQ(under_odd, digest);
  EXPECT_EQ(after & ~0x3FU, odd & ~0x3FU);
}
#endif

TEST(Api, a_session_that_was_moved_from_is_an_error) {
  sardonyx::Session session = model().compile();
  const sardonyx::Session taken = std::move(session);
  const sardonyx::NamedValue x[] = {{"x", Tensor({1, 3}, {1.0F, 2.0F, 3.0F})}};
  EXPECT_EQ(session.try_run(x).error().code(), "SDX-A0030");  // NOLINT: that is the question
  EXPECT_THROW((void)session.inputs(), sardonyx::Error);      // NOLINT
  EXPECT_THROW((void)session.another(), sardonyx::Error);     // NOLINT
  EXPECT_THROW((void)session.threads(), sardonyx::Error);     // NOLINT
  EXPECT_THROW(session.set_state("x", x[0].second), sardonyx::Error);  // NOLINT
  EXPECT_EQ(taken.inputs().size(), 1U);
}

TEST(Api, threads_that_share_a_session_get_answers_or_an_error) {
  sardonyx::Session session = model().compile({.threads = 1});
  const Tensor x({1, 3}, {1.0F, 2.0F, 3.0F});
  const std::string digest = session.run({{"x", x}})[0].digest();
  std::atomic<int> right = 0, refused = 0, other = 0;
  const auto work = [&] {
    const sardonyx::NamedValue given[] = {{"x", x}};
    for (int i = 0; i < 2000; ++i) {
      auto outputs = session.try_run(given);
      if (outputs) {
        ++((*outputs)[0].digest() == digest ? right : other);
      } else {
        ++(outputs.error().code() == "SDX-A0031" ? refused : other);
      }
    }
  };
  std::thread a(work), b(work), c(work);
  a.join(), b.join(), c.join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(right + refused, 6000);
  EXPECT_GT(right, 0);
  EXPECT_EQ(session.run({{"x", x}})[0].digest(), digest);  // it goes on
}

TEST(Api, hostile_bytes_give_errors) {
  const std::string bytes = softmax_model();
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto cut = sardonyx::Model::try_parse(std::as_bytes(std::span(bytes).first(size)));
    if (cut) (void)cut->try_compile({.threads = 1});
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const char flip : {char(0x01), char(0x80), char(0xFF)}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ flip);
      auto parsed = sardonyx::Model::try_parse(std::as_bytes(std::span(broken)));
      if (!parsed) continue;
      auto session = parsed->try_compile({.threads = 1});
      if (session) {
        const sardonyx::NamedValue x[] = {{"x", Tensor({1, 3}, {1.0F, 2.0F, 3.0F})}};
        (void)session->try_run(x);
      }
    }
  }
}

}  // namespace
