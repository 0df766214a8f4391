// Models of one window over a whole stream, and inputs that have one value.
#include "api/windowed.h"

#include <gtest/gtest.h>

#include "api/engine.h"
#include "api/streaming.h"
#include "model/text.h"
#include "stream/rows.h"

namespace sdx {
namespace {

// Made for 4 rows: a state that decays, and another filter where the rate is not 16000.
constexpr const char* kDetector = R"(
<ir_version: 10, opset_import: ["" : 21]>
detector (float[1,4] x, float[1,2] state, int64 rate) => (float[1,1] y, float[1,2] next) {
  usual = Constant <value_int = 16000> ()
  is_usual = Equal (rate, usual)
  seen = If <
    then_branch = fast () => (float[1,2] a) {
      w = Constant <value = float[4,2] {0.5, -0.25, 0.125, 1.0, 0.75, -0.5, 0.25, 0.3}> ()
      a = MatMul (x, w)
    },
    else_branch = slow () => (float[1,2] b) {
      v = Constant <value = float[4,2] {1.5, 0.25, 0.1, -1.0, 0.7, 0.5, 0.2, 0.6}> ()
      b = MatMul (x, v)
    }
  > (is_usual)
  half = Constant <value_float = 0.7> ()
  old = Mul (state, half)
  sum = Add (old, seen)
  next = Tanh (sum)
  y = ReduceMax <keepdims = 1> (next)
}
)";

std::shared_ptr<const model::Model> parsed(const char* text) {
  auto model = model::parse_text(text);
  EXPECT_TRUE(model) << model.error().text();
  return std::make_shared<const model::Model>(*std::move(model));
}

Tensor waves(Dims dims) {
  Tensor tensor = Tensor::make(DType::f32, std::move(dims));
  for (size_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = float((i * 7919) % 64) / 32.0f - 1.0f;
  return tensor;
}

// The model on one window after the other, its state handed on: y of each, and the last state.
std::pair<std::vector<Tensor>, Tensor> by_hand(const Tensor& x, int64_t hop, int64_t rate) {
  const auto compiled = compile(parsed(kDetector));
  EXPECT_TRUE(compiled) << compiled.error().text();
  run::Session session(*compiled);
  Value state = Tensor::of<float>({1, 2}, {0.25f, -0.5f});
  std::vector<Tensor> rows;
  for (int64_t at = 0; at + 4 <= x.dims()[1]; at += hop) {
    const auto results = session.run(std::vector<Value>{stream::rows_of(x, 1, at, at + 4), state,
                                                        Tensor::scalar<int64_t>(rate)});
    EXPECT_TRUE(results) << results.error().text();
    rows.push_back((*results)[0].tensor());
    state = (*results)[1];
  }
  return {rows, state.tensor()};
}

void expect_by_hand(const std::string& axis, int64_t hop, int64_t rate, bool rate_is_input) {
  const Tensor x = waves({1, 24});
  const auto [rows, last] = by_hand(x, hop, rate);
  const auto source = stream_source(parsed(kDetector), axis, {.threads = 1});
  ASSERT_TRUE(source) << source.error().text();
  for (const int64_t chunk : {1, 3, 8, 24}) {
    SCOPED_TRACE(fmt::format("{} in chunks of {}", axis, chunk));
    stream::Stream stream(*source);
    std::vector<Tensor> got;
    for (int64_t at = 0; at < 24; at += chunk) {
      std::vector<Tensor> inputs{stream::rows_of(x, 1, at, at + chunk),
                                 Tensor::of<float>({1, 2}, {0.25f, -0.5f})};
      if (rate_is_input) inputs.push_back(Tensor::scalar<int64_t>(rate));
      const auto pushed = stream.push(inputs);
      ASSERT_TRUE(pushed) << pushed.error().text();
      const int64_t windows = at + chunk < 4 ? 0 : (at + chunk - 4) / hop + 1;
      got.push_back((*pushed)[0].copy());
      int64_t so_far = 0;
      for (const Tensor& part : got) so_far += part.dims()[0];
      EXPECT_EQ(so_far, windows) << "a window is answered with its last row";
    }
    const auto ended = stream.finish();
    ASSERT_TRUE(ended) << ended.error().text();
    const Tensor all = stream::joined(got, 0);
    ASSERT_EQ(all.dims(), (Dims{int64_t(rows.size()), 1, 1}));
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(all.data<float>()[i], rows[i].data<float>()[0]) << "window " << i;
    EXPECT_TRUE((*ended)[1] == last);
  }
}

TEST(Windows, of_a_stream_are_runs_of_the_model_with_its_state_handed_on) {
  expect_by_hand("x:1:4,next=state", 4, 16000, true);
  expect_by_hand("x:1:4,next=state", 4, 8000, true);
}

TEST(Windows, may_overlap) {
  expect_by_hand("x:1:4:2,next=state", 2, 16000, true);
  expect_by_hand("x:1:4:1,next=state", 1, 16000, true);
}

TEST(Windows, are_read_with_inputs_that_have_one_value) {
  expect_by_hand("x:1:4,next=state,rate=16000", 4, 16000, false);
  expect_by_hand("x:1:4:2,rate=8000,next=state", 2, 8000, false);
}

TEST(Windows, that_the_model_does_not_have_are_refused) {
  const auto code = [](const std::string& axis) {
    const auto source = stream_source(parsed(kDetector), axis, {.threads = 1});
    return source ? std::string("none") : std::string(source.error().code);
  };
  EXPECT_EQ(code("x:1:5,next=state"), "SDX-S0074");    // it takes 4 rows
  EXPECT_EQ(code("x:1:4:3,next=state"), "SDX-S0074");  // 3 does not divide 4
  EXPECT_EQ(code("x:1:0,next=state"), "SDX-S0071");    // states of no windows
  EXPECT_EQ(code("x:2:4,next=state"), "SDX-S0071");    // no such axis
  EXPECT_EQ(code("z:1:4,next=state"), "SDX-S0071");    // no such input
  EXPECT_EQ(code("x:1:4,last=state"), "SDX-S0071");    // no such output
  EXPECT_EQ(code("x:1:4,next=before"), "SDX-S0071");   // no such input
  EXPECT_EQ(code("x:1:4,next"), "SDX-S0071");          // no pair
  EXPECT_EQ(code("x:1,next=state"), "SDX-S0071");      // a state without windows
  EXPECT_EQ(code("x:1:4,tempo=3,next=state"), "SDX-S0071");
}

// Which branch runs hangs on a value: along one of them rows stream, the other needs them all.
constexpr const char* kChoice = R"(
<ir_version: 10, opset_import: ["" : 21]>
choice (float[1,1,T] x, int64 rate) => (float[1,1,U] y) {
  usual = Constant <value_int = 16000> ()
  is_usual = Equal (rate, usual)
  y = If <
    then_branch = windows () => (float[1,1,A] a) {
      w = Constant <value = float[1,1,3] {0.5, -0.25, 0.125}> ()
      a = Conv <pads = [2, 0]> (x, w)
    },
    else_branch = all () => (float[1,1,B] b) {
      b = Softmax <axis = 2> (x)
    }
  > (is_usual)
}
)";

TEST(Windows, an_input_that_has_one_value_chooses_the_branch_that_is_streamed) {
  const Tensor x = waves({1, 1, 20});
  const auto compiled = compile(parsed(kChoice));
  ASSERT_TRUE(compiled);
  const auto whole =
      run::Session(*compiled).run(std::vector<Value>{x, Tensor::scalar<int64_t>(16000)});
  ASSERT_TRUE(whole) << whole.error().text();
  const auto source = stream_source(parsed(kChoice), "T,rate=16000", {.threads = 1});
  ASSERT_TRUE(source) << source.error().text();
  stream::Stream stream(*source);
  std::vector<Tensor> got;
  for (int64_t at = 0; at < 20; at += 5) {
    const auto pushed = stream.push(std::vector<Tensor>{stream::rows_of(x, 2, at, at + 5)});
    ASSERT_TRUE(pushed) << pushed.error().text();
    got.push_back((*pushed)[0].copy());
  }
  EXPECT_TRUE(stream::joined(got, 2) == (*whole)[0].tensor());
  for (const char* axis : {"T,rate=8000", "T"}) {
    const auto other = stream_source(parsed(kChoice), axis, {.threads = 1});
    ASSERT_TRUE(other) << other.error().text();
    const auto model = (*other)->at({});
    ASSERT_FALSE(model) << axis;
    EXPECT_EQ(model.error().code, "SDX-S0010") << model.error().text();
  }
}

}  // namespace
}  // namespace sdx
