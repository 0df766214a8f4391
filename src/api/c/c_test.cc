// The C interface as C sees it: what works, and what every misuse says.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "sardonyx/sardonyx_c.h"

namespace {

const std::string kData = std::string(SDX_SOURCE_DIR) + "/tests/data/";

// The error's code, and the error gone; "" if there was none.
std::string code(sardonyx_error* error) {
  std::string found = sardonyx_error_code(error);
  sardonyx_error_release(error);
  return found;
}
#define OK(call) ASSERT_EQ(code(call), "")

// y = Softmax(x) of f32[N,3].
class CInterface : public testing::Test {
 protected:
  void SetUp() override {
    OK(sardonyx_model_load((kData + "softmax.onnx").c_str(), &model_));
    sardonyx_options options{};
    options.size = sizeof options;
    options.threads = 1;
    OK(sardonyx_session_new(model_, &options, &session_));
    OK(sardonyx_tensor_over(SARDONYX_F32, dims_, 2, x_, sizeof x_, nullptr, nullptr, &input_));
  }
  void TearDown() override {
    sardonyx_value_release(input_);
    sardonyx_session_release(session_);
    sardonyx_model_release(model_);
  }

  const int64_t dims_[2] = {1, 3};
  float x_[3] = {0, 0, 0};
  sardonyx_model* model_ = nullptr;
  sardonyx_session* session_ = nullptr;
  sardonyx_value* input_ = nullptr;
};

// The same model without its ir_version, the first field of the file.
TEST_F(CInterface, takes_a_model_that_deviates_unless_told_not_to) {
  std::ifstream file(kData + "softmax.onnx", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_EQ(bytes[0], 0x08);
  bytes.erase(0, 2);
  sardonyx_model* model = nullptr;
  OK(sardonyx_model_parse(bytes.data(), bytes.size(), nullptr, &model));
  sardonyx_options options{};
  options.size = sizeof options;
  options.threads = 1;
  sardonyx_session* session = nullptr;
  OK(sardonyx_session_new(model, &options, &session));
  const char* note = nullptr;
  OK(sardonyx_session_note(session, 0, &note));
  ASSERT_NE(note, nullptr);
  EXPECT_NE(std::string(note).find("SDX-K0101"), std::string::npos) << note;
  sardonyx_session_release(session);
  options.accept_strict = 1;
  EXPECT_EQ(code(sardonyx_session_new(model, &options, &session)), "SDX-K0101");
  sardonyx_model_release(model);
}

TEST_F(CInterface, gives_values_of_its_own) {
  sardonyx_value* output = nullptr;
  OK(sardonyx_session_run(session_, nullptr, &input_, 1, nullptr, &output, 1));
  void* data = nullptr;
  size_t bytes = 0, rank = 0, count = 0;
  const int64_t* dims = nullptr;
  int32_t type = 0, kind = 0;
  OK(sardonyx_value_kind(output, &kind));
  OK(sardonyx_tensor_type(output, &type));
  OK(sardonyx_tensor_shape(output, &dims, &rank));
  OK(sardonyx_tensor_count(output, &count));
  OK(sardonyx_tensor_data(output, &data, &bytes));
  EXPECT_EQ(kind, SARDONYX_TENSOR);
  EXPECT_EQ(type, SARDONYX_F32);
  EXPECT_EQ(std::vector<int64_t>(dims, dims + rank), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(bytes, 3 * sizeof(float));
  EXPECT_EQ(count, 3U);
  EXPECT_FLOAT_EQ(static_cast<float*>(data)[0], 1.0F / 3);
  sardonyx_value_release(output);
}

TEST_F(CInterface, writes_into_memory_of_the_caller) {
  float y[3] = {};
  sardonyx_value* output = nullptr;
  OK(sardonyx_tensor_over(SARDONYX_F32, dims_, 2, y, sizeof y, nullptr, nullptr, &output));
  OK(sardonyx_session_run(session_, nullptr, &input_, 1, nullptr, &output, 1));
  EXPECT_FLOAT_EQ(y[2], 1.0F / 3);
  const char* names[] = {"x", "y"};
  y[2] = 0;
  OK(sardonyx_session_run(session_, names, &input_, 1, names + 1, &output, 1));
  EXPECT_FLOAT_EQ(y[2], 1.0F / 3);
  sardonyx_value_release(output);

  const int64_t wrong[] = {3, 1};
  OK(sardonyx_tensor_over(SARDONYX_F32, wrong, 2, y, sizeof y, nullptr, nullptr, &output));
  EXPECT_EQ(code(sardonyx_session_run(session_, nullptr, &input_, 1, nullptr, &output, 1)),
            "SDX-R0013");
  sardonyx_value_release(output);
}

TEST_F(CInterface, runs_in_many_threads_at_once) {
  std::vector<std::thread> threads;
  std::vector<std::string> digests(8);
  for (std::string& digest : digests) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        sardonyx_value* output = nullptr;
        char text[65] = "";
        if (!code(sardonyx_session_run(session_, nullptr, &input_, 1, nullptr, &output, 1)).empty())
          return;
        if (!code(sardonyx_tensor_digest(output, text)).empty()) return;
        sardonyx_value_release(output);
        digest = text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(digests[0].size(), 64U);
  for (const std::string& digest : digests) EXPECT_EQ(digest, digests[0]);
}

TEST_F(CInterface, a_released_or_foreign_handle_is_an_error) {
  sardonyx_value* output = nullptr;
  auto* const invented = reinterpret_cast<sardonyx_session*>(uintptr_t{0x1000});
  auto* const mistaken = reinterpret_cast<sardonyx_session*>(model_);
  for (sardonyx_session* wrong : {static_cast<sardonyx_session*>(nullptr), invented, mistaken}) {
    EXPECT_EQ(code(sardonyx_session_run(wrong, nullptr, &input_, 1, nullptr, &output, 1)),
              "SDX-A0101");
    if (wrong != mistaken) sardonyx_session_release(wrong);
  }
  sardonyx_session_release(mistaken);  // of another kind: nothing happens
  size_t count = 0;
  OK(sardonyx_model_counts(model_, &count, nullptr));
  sardonyx_value* twice = nullptr;
  OK(sardonyx_none_new(&twice));
  sardonyx_value_release(twice);
  sardonyx_value_release(twice);
  int32_t kind = 0;
  EXPECT_EQ(code(sardonyx_value_kind(twice, &kind)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_session_run(session_, nullptr, &twice, 1, nullptr, &output, 1)),
            "SDX-A0101");
  EXPECT_STREQ(sardonyx_error_text(nullptr), "");
  EXPECT_EQ(sardonyx_error_places(nullptr), 0U);
}

TEST_F(CInterface, null_pointers_are_errors) {
  EXPECT_EQ(code(sardonyx_model_load(nullptr, &model_)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_model_load("x", nullptr)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_model_parse(nullptr, 5, nullptr, &model_)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_session_new(nullptr, nullptr, &session_)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_session_new(model_, nullptr, nullptr)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_session_run(session_, nullptr, nullptr, 1, nullptr, nullptr, 0)),
            "SDX-A0101");
  EXPECT_EQ(code(sardonyx_session_run(session_, nullptr, &input_, 1, nullptr, nullptr, 1)),
            "SDX-A0101");
  EXPECT_EQ(code(sardonyx_tensor_new(SARDONYX_F32, nullptr, 2, &input_)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_tensor_new(SARDONYX_F32, dims_, 2, nullptr)), "SDX-A0101");
  EXPECT_EQ(
      code(sardonyx_tensor_over(SARDONYX_F32, dims_, 2, nullptr, 12, nullptr, nullptr, &input_)),
      "SDX-A0101");
  EXPECT_EQ(code(sardonyx_tensor_type(input_, nullptr)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_tensor_digest(input_, nullptr)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_model_input(model_, 0, nullptr)), "SDX-A0101");
  sardonyx_port unset{};
  EXPECT_EQ(code(sardonyx_model_input(model_, 0, &unset)), "SDX-A0101");
  const sardonyx_options blank{};
  EXPECT_EQ(code(sardonyx_session_new(model_, &blank, &session_)), "SDX-A0101");
}

TEST_F(CInterface, wrong_inputs_are_errors_with_codes) {
  sardonyx_value* output = nullptr;
  const char* name = "X";
  EXPECT_EQ(code(sardonyx_session_run(session_, &name, &input_, 1, nullptr, &output, 1)),
            "SDX-A0002");
  EXPECT_EQ(code(sardonyx_session_run(session_, nullptr, &input_, 1, &name, &output, 1)),
            "SDX-A0002");
  EXPECT_EQ(code(sardonyx_session_run(session_, nullptr, &input_, 0, nullptr, &output, 1)),
            "SDX-A0003");
  EXPECT_EQ(code(sardonyx_tensor_new(99, dims_, 2, &output)), "SDX-A0104");
  EXPECT_EQ(code(sardonyx_tensor_new(SARDONYX_F32, dims_, 1000, &output)), "SDX-A0104");
  EXPECT_EQ(code(sardonyx_tensor_over(SARDONYX_F32, dims_, 2, x_, 11, nullptr, nullptr, &output)),
            "SDX-A0103");
  EXPECT_EQ(code(sardonyx_tensor_over(SARDONYX_U8, dims_, 2, x_, 3, nullptr, nullptr, &output)),
            "");
  sardonyx_value* none = nullptr;
  EXPECT_NE(code(sardonyx_session_run(session_, nullptr, &output, 1, nullptr, &none, 1)), "");
  EXPECT_EQ(none, nullptr);
  sardonyx_value_release(output);
}

TEST_F(CInterface, tells_the_signature) {
  sardonyx_port port{};
  port.size = sizeof port;
  OK(sardonyx_session_input(session_, 0, &port));
  EXPECT_STREQ(port.name, "x");
  EXPECT_STREQ(port.text, "f32[N,3]");
  EXPECT_EQ(port.rank, 2);
  EXPECT_EQ(port.dims[0], -1);
  EXPECT_STREQ(port.dim_names[0], "N");
  EXPECT_EQ(port.dims[1], 3);
  EXPECT_EQ(code(sardonyx_session_output(session_, 1, &port)), "SDX-A0105");
  // A caller compiled with an older, shorter struct gets the members it knows.
  sardonyx_port old{};
  old.size = offsetof(sardonyx_port, kind);
  old.rank = 77;
  OK(sardonyx_model_input(model_, 0, &old));
  EXPECT_STREQ(old.name, "x");
  EXPECT_EQ(old.rank, 77);
}

TEST_F(CInterface, a_run_that_is_asked_to_stop_ends) {
  sardonyx_stop* stop = nullptr;
  OK(sardonyx_stop_new(&stop));
  sardonyx_run_options options{};
  options.size = sizeof options;
  options.stop = stop;
  sardonyx_value* output = nullptr;
  OK(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1, &options));
  sardonyx_value_release(output);
  output = nullptr;
  OK(sardonyx_stop_ask(stop));
  EXPECT_EQ(code(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1,
                                             &options)),
            "SDX-R0030");
  EXPECT_EQ(output, nullptr);
  sardonyx_stop_release(stop);
  EXPECT_EQ(code(sardonyx_stop_ask(stop)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1,
                                             &options)),
            "SDX-A0101");
}

TEST_F(CInterface, a_run_beyond_its_time_ends) {
  sardonyx_run_options options{};
  options.size = sizeof options;
  options.time_limit_ns = 1;
  sardonyx_value* output = nullptr;
  EXPECT_EQ(code(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1,
                                             &options)),
            "SDX-R0031");
  options.time_limit_ns = int64_t{3600} * 1'000'000'000;
  OK(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1, &options));
  // A struct of an older program ends before the limits.
  options.time_limit_ns = 1;
  options.size = offsetof(sardonyx_run_options, time_limit_ns);
  OK(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1, &options));
  options.size = 0;
  EXPECT_EQ(code(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1,
                                             &options)),
            "SDX-A0101");
  options.size = sizeof options;
  options.time_limit_ns = -1;
  EXPECT_EQ(code(sardonyx_session_run_within(session_, nullptr, &input_, 1, nullptr, &output, 1,
                                             &options)),
            "SDX-A0104");
  sardonyx_value_release(output);
}

TEST_F(CInterface, outputs_that_nobody_asked_for_are_not_computed) {
  // The Loop behind the other output passes its limit.
  const std::string path = testing::TempDir() + "sardonyx_two_outputs.txt";
  std::ofstream(path) << R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, int64 n, bool go) => (float[2] y, float[2] z) {
      y = Neg(x)
      z = Loop <body = b (int64 i, bool c, float[2] s) => (bool again, float[2] t) {
        again = Identity(c)
        t = Neg(s)
      }> (n, go, x)
    })";
  sardonyx_model* model = nullptr;
  sardonyx_session* session = nullptr;
  OK(sardonyx_model_load(path.c_str(), &model));
  OK(sardonyx_session_new(model, nullptr, &session));
  int64_t n = 10;
  bool go = true;
  const int64_t two = 2;
  sardonyx_value *inputs[3] = {}, *output = nullptr;
  OK(sardonyx_tensor_over(SARDONYX_F32, &two, 1, x_, 8, nullptr, nullptr, &inputs[0]));
  OK(sardonyx_tensor_over(SARDONYX_I64, nullptr, 0, &n, 8, nullptr, nullptr, &inputs[1]));
  OK(sardonyx_tensor_over(SARDONYX_BOOL, nullptr, 0, &go, 1, nullptr, nullptr, &inputs[2]));
  sardonyx_run_options options{};
  options.size = sizeof options;
  options.loop_limit = 3;
  const auto run = [&](const char* name) {
    return code(
        sardonyx_session_run_within(session, nullptr, inputs, 3, &name, &output, 1, &options));
  };
  EXPECT_EQ(run("z"), "SDX-R0610");
  EXPECT_EQ(run("y"), "");
  sardonyx_value_release(output);
  for (sardonyx_value* input : inputs) sardonyx_value_release(input);
  sardonyx_session_release(session);
  sardonyx_model_release(model);
  std::remove(path.c_str());
}

// y = by * x
int32_t scale(void* context, sardonyx_call* call, sardonyx_value* const* inputs, size_t,
              sardonyx_value** outputs, size_t) {
  ++*static_cast<int*>(context);
  float by = 0;
  void *x = nullptr, *y = nullptr;
  size_t bytes = 0;
  if (!code(sardonyx_call_float(call, "by", &by)).empty() ||
      !code(sardonyx_tensor_data(inputs[0], &x, &bytes)).empty() ||
      !code(sardonyx_tensor_data(outputs[0], &y, nullptr)).empty()) {
    return 1;
  }
  if (by == 0) {
    sardonyx_call_fail(call, "nothing is left of it");
    return 1;
  }
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    static_cast<float*>(y)[i] = by * static_cast<float*>(x)[i];
  }
  return 0;
}

// y = Scale {by} (x) of f32[N] in ONNX's wire format.
std::string scale_model(float by) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto integer = [](int number, int value) {
    return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
  };
  std::string bits(4, 0);
  std::memcpy(bits.data(), &by, 4);
  const std::string type = field(1, integer(1, 1) + field(2, field(1, field(2, "N"))));
  const std::string attribute = field(1, "by") + "\x15" + bits + std::string("\xa0\x01\x01");
  const std::string node =
      field(1, "x") + field(2, "y") + field(4, "Scale") + field(5, attribute) + field(7, "test.c");
  const std::string graph = field(1, node) + field(2, "main") +
                            field(11, field(1, "x") + field(2, type)) +
                            field(12, field(1, "y") + field(2, type));
  return integer(1, 8) + field(7, graph) + field(8, field(1, "test.c") + integer(2, 1)) +
         field(8, field(1, "") + integer(2, 17));
}

TEST(COperators, run_in_models) {
  static int calls = 0;
  const int32_t since = 1;
  const char* signature = "(x: T) -> (y: T) {by: float = 2.0} T in f32";
  sardonyx_operator op{};
  op.size = sizeof op;
  op.domain = "test.c";
  op.name = "Scale";
  op.since = &since;
  op.signatures = &signature;
  op.versions = 1;
  op.context = &calls;
  op.compute = scale;
  OK(sardonyx_operator_register(&op));
  EXPECT_NE(code(sardonyx_operator_register(&op)), "");  // there is one of this name
  op.compute = nullptr;
  EXPECT_EQ(code(sardonyx_operator_register(&op)), "SDX-A0101");

  const int64_t dims[] = {2};
  float x[] = {1, 2};
  sardonyx_value *in = nullptr, *out = nullptr;
  OK(sardonyx_tensor_over(SARDONYX_F32, dims, 1, x, sizeof x, nullptr, nullptr, &in));
  for (const float by : {3.0F, 0.0F}) {
    const std::string bytes = scale_model(by);
    sardonyx_model* model = nullptr;
    sardonyx_session* session = nullptr;
    OK(sardonyx_model_parse(bytes.data(), bytes.size(), nullptr, &model));
    OK(sardonyx_session_new(model, nullptr, &session));
    out = nullptr;
    sardonyx_error* error = sardonyx_session_run(session, nullptr, &in, 1, nullptr, &out, 1);
    if (by == 0) {
      EXPECT_NE(std::strstr(sardonyx_error_message(error), "nothing is left"), nullptr);
      sardonyx_error_release(error);
    } else {
      OK(error);
      void* y = nullptr;
      OK(sardonyx_tensor_data(out, &y, nullptr));
      EXPECT_EQ(static_cast<float*>(y)[1], 6);
    }
    sardonyx_value_release(out);
    sardonyx_session_release(session);
    sardonyx_model_release(model);
  }
  EXPECT_EQ(calls, 2);
  sardonyx_value_release(in);
  EXPECT_EQ(sardonyx_call_has(nullptr, "by"), 0);
}

TEST(CValues, strings_sequences_and_maps_come_back) {
  const char* words[] = {"one", "t\0o"};
  const size_t lengths[] = {3, 3};
  const int64_t dims[] = {2};
  sardonyx_value *text = nullptr, *none = nullptr, *list = nullptr, *map = nullptr, *item = nullptr;
  OK(sardonyx_tensor_of_strings(dims, 1, words, lengths, 2, &text));
  OK(sardonyx_none_new(&none));
  sardonyx_value* items[] = {text, none};
  OK(sardonyx_sequence_new(items, 2, &list));
  const char* keys[] = {"b", "a"};
  OK(sardonyx_map_new(nullptr, keys, items, 2, &map));
  sardonyx_value_release(text);
  size_t size = 0, length = 0;
  OK(sardonyx_value_size(list, &size));
  EXPECT_EQ(size, 2U);
  OK(sardonyx_value_item(list, 0, &item));
  const char* word = nullptr;
  OK(sardonyx_tensor_string(item, 1, &word, &length));
  EXPECT_EQ(std::string(word, length), std::string("t\0o", 3));
  EXPECT_EQ(code(sardonyx_tensor_string(item, 2, &word, &length)), "SDX-A0105");
  int64_t number = 0;
  OK(sardonyx_map_key(map, 0, &number, &word));
  EXPECT_STREQ(word, "a");
  EXPECT_EQ(code(sardonyx_map_key(list, 0, &number, &word)), "SDX-A0106");
  EXPECT_EQ(code(sardonyx_value_size(none, &size)), "SDX-A0106");
  for (sardonyx_value* value : {none, list, map, item}) sardonyx_value_release(value);
}

TEST(CValues, memory_of_the_caller_is_given_back_once) {
  int released = 0;
  float data[1] = {};
  sardonyx_value *tensor = nullptr, *list = nullptr;
  const auto release = [](void*, void* context) { ++*static_cast<int*>(context); };
  OK(sardonyx_tensor_over(SARDONYX_F32, nullptr, 0, data, 4, release, &released, &tensor));
  OK(sardonyx_sequence_new(&tensor, 1, &list));
  sardonyx_value_release(tensor);
  EXPECT_EQ(released, 0);
  sardonyx_value_release(list);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(
      code(sardonyx_tensor_over(SARDONYX_F32, nullptr, 0, data, 3, release, &released, &tensor)),
      "SDX-A0103");
  EXPECT_EQ(released, 1);
}

TEST(CModels, findings_are_errors_with_places) {
  sardonyx_model* model = nullptr;
  OK(sardonyx_model_load((kData + "badshape.onnx").c_str(), &model));
  sardonyx_error* finding = nullptr;
  size_t count = 0;
  OK(sardonyx_model_check(model, &finding, 1, &count));
  ASSERT_EQ(count, 1U);
  EXPECT_NE(std::strstr(sardonyx_error_message(finding), "MatMul"), nullptr);
  EXPECT_GT(sardonyx_error_places(finding), 0U);
  EXPECT_STRNE(sardonyx_error_place(finding, 0), "");
  EXPECT_STREQ(sardonyx_error_place(finding, 99), "");
  sardonyx_error_release(finding);
  sardonyx_session* session = nullptr;
  EXPECT_NE(code(sardonyx_session_new(model, nullptr, &session)), "");
  sardonyx_model_release(model);
  EXPECT_NE(code(sardonyx_model_load("no/such/file.onnx", &model)), "");
  EXPECT_NE(code(sardonyx_model_parse("junk", 4, nullptr, &model)), "");
}

// What a stream gives is copied out and let go.
std::vector<float> floats_of(sardonyx_value* value) {
  void* data = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(code(sardonyx_tensor_data(value, &data, &bytes)), "");
  const auto* from = static_cast<const float*>(data);
  std::vector<float> floats(from, from + bytes / sizeof(float));
  sardonyx_value_release(value);
  return floats;
}

TEST(CStream, gives_rows_as_they_become_certain_and_the_rest_at_the_end) {
  sardonyx_model* model = nullptr;
  sardonyx_stream *stream = nullptr, *fork = nullptr;
  OK(sardonyx_model_load((kData + "smooth.txt").c_str(), &model));
  OK(sardonyx_stream_new(model, "T", nullptr, &stream));
  size_t inputs = 0, outputs = 0;
  OK(sardonyx_stream_counts(stream, &inputs, &outputs));
  EXPECT_EQ(inputs, 1u);
  EXPECT_EQ(outputs, 2u);
  float x[12] = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};
  const int64_t dims[3] = {1, 2, 6};
  sardonyx_value *chunk = nullptr, *results[2] = {};
  OK(sardonyx_tensor_over(SARDONYX_F32, dims, 3, x, sizeof x, nullptr, nullptr, &chunk));
  OK(sardonyx_stream_push(stream, nullptr, &chunk, 1, results, nullptr));
  EXPECT_EQ(results[1], nullptr);  // known at the end
  EXPECT_EQ(floats_of(results[0]).size(), 2u);
  OK(sardonyx_stream_fork(stream, &fork));
  size_t size = 0;
  OK(sardonyx_stream_save(stream, nullptr, 0, &size));
  std::vector<char> saved(size);
  OK(sardonyx_stream_save(stream, saved.data(), saved.size(), &size));
  std::vector<std::vector<float>> rest;
  const auto finish = [&](sardonyx_stream* which) {
    OK(sardonyx_stream_finish(which, results, nullptr));
    rest.push_back(floats_of(results[0]));
    rest.push_back(floats_of(results[1]));
  };
  finish(stream);
  finish(fork);
  EXPECT_EQ(code(sardonyx_stream_push(stream, nullptr, &chunk, 1, results, nullptr)), "SDX-S0027");
  OK(sardonyx_stream_reset(stream));
  OK(sardonyx_stream_restore(stream, saved.data(), saved.size()));
  finish(stream);
  ASSERT_EQ(rest.size(), 6u);
  EXPECT_EQ(rest[0].size(), 1u);
  EXPECT_EQ(rest[1].size(), 2u);
  for (size_t i = 2; i < rest.size(); ++i) EXPECT_EQ(rest[i], rest[i % 2]);
  EXPECT_EQ(code(sardonyx_stream_restore(fork, "SDXSTRM", 7)), "SDX-S0041");
  sardonyx_stream* none = nullptr;
  EXPECT_EQ(code(sardonyx_stream_new(model, "U", nullptr, &none)), "SDX-S0003");
  EXPECT_EQ(code(sardonyx_stream_new(model, nullptr, nullptr, &none)), "SDX-A0101");
  EXPECT_EQ(code(sardonyx_stream_push(nullptr, nullptr, &chunk, 1, results, nullptr)), "SDX-A0101");
  sardonyx_value_release(chunk);
  sardonyx_stream_release(fork);
  sardonyx_stream_release(stream);
  sardonyx_model_release(model);
}

}  // namespace
