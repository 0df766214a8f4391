#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "serve/http/http1_parser.h"
#include "serve/http/zip.h"
#include "serve/oip/decimal.h"
#include "serve/oip/framing.h"
#include "serve/oip/half.h"
#include "serve/oip/json.h"
#include "serve/oip/proto.h"
#include "serve/span.h"
#include "serve/yaml/yaml.h"

namespace sardonyx::serve {
namespace {

Outcome<InferRequest> read(std::string_view json, Body& body) {
  body.append(json);
  body.pad();
  return read_infer_json(body, json.size());
}

TEST(Http1, a_request_may_be_cut_at_every_byte) {
  const std::string text =
      "\r\nPOST /v2/models/a%20b/infer?x=1 HTTP/1.1\r\nHost: h\r\nX-Thing:  some value \r\n"
      "Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n6\r\n world\r\n0\r\nT: 1\r\n\r\nGET";
  const HttpLimits limits;
  for (size_t cut = 0; cut <= text.size() - 3; ++cut) {
    Http1Parser parser(limits);
    const std::string_view all = text;
    size_t taken = parser.feed(all.substr(0, cut));
    taken += parser.feed(all.substr(taken));
    ASSERT_TRUE(parser.done()) << cut << parser.reason();
    EXPECT_EQ(taken, text.size() - 3);
    const Request request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v2/models/a%20b/infer");
    EXPECT_EQ(request.query, "x=1");
    EXPECT_EQ(request.header("x-thing"), "some value");
    EXPECT_EQ(request.body.view(), "hello world");
  }
}

TEST(Http1, a_short_head_survives_being_taken) {
  const HttpLimits limits;
  Http1Parser parser(limits);
  parser.feed("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(parser.done());
  EXPECT_FALSE(parser.keep_alive());
  const Request request = parser.take();
  EXPECT_EQ(request.path, "/");
}

TEST(Http1, a_tensor_behind_its_header_is_aligned) {
  const HttpLimits limits;
  Http1Parser parser(limits);
  const std::string body(37, 'j'), tensor(100, 't');
  parser.feed(
      "POST / HTTP/1.1\r\nHost: h\r\nInference-Header-Content-Length: 37\r\nContent-Length: "
      "137\r\n\r\n" +
      body + tensor);
  ASSERT_TRUE(parser.done());
  const Request request = parser.take();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(request.body.data() + 37) % 64, 0u);
}

TEST(Http1, noise_is_refused_or_waited_for) {
  const HttpLimits limits;
  std::mt19937 random(1);
  const std::string words[] = {"GET ",
                               "/",
                               " HTTP/1.1",
                               "\r\n",
                               "\n",
                               "Host: a",
                               "Content-Length: 3",
                               "Transfer-Encoding: chunked",
                               ":",
                               "\r\n\r\n",
                               "3\r\nabc\r\n",
                               "0\r\n\r\n",
                               std::string(1, '\0')};
  for (int i = 0; i < 20000; ++i) {
    Http1Parser parser(limits);
    for (int j = 0; j < 12 && parser.state() != Http1Parser::State::bad; ++j) {
      parser.feed(words[random() % std::size(words)]);
      if (parser.done()) parser.take();
    }
  }
}

TEST(Half, every_encoding_comes_back) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool nan = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0;
    if (!nan) {
      EXPECT_EQ(half_of(float_of_half(half)), half);
    }
    const bool bnan = (half & 0x7f80) == 0x7f80 && (half & 0x7f) != 0;
    if (!bnan) {
      EXPECT_EQ(bfloat_of(float_of_bfloat(half)), half);
    }
  }
  EXPECT_EQ(half_of(65520), 0x7c00);  // rounds up to infinity
  EXPECT_EQ(half_of(65519.99), 0x7bff);
  EXPECT_EQ(half_of(std::ldexp(1.0, -25)), 0);  // ties to even
  EXPECT_EQ(half_of(std::ldexp(1.5, -25)), 1);
}

TEST(Json, floats_come_back_bit_for_bit) {
  std::mt19937 random(3);
  Tensor tensor(Type::f32, {1, 2000});
  for (float& value : tensor.values<float>()) {
    const auto bits = static_cast<uint32_t>(random());
    std::memcpy(&value, &bits, 4);
    if (std::isnan(value)) value = NAN;
  }
  std::string text = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2000],"data":)";
  append_json_elements(text, tensor);
  text += "}]}";
  Body body;
  const auto request = read(text, body);
  ASSERT_TRUE(request) << request.failure().message;
  EXPECT_EQ(0, std::memcmp(request->inputs[0].tensor.data(), tensor.data(), tensor.bytes()));
}

TEST(Json, a_number_is_rounded_once) {
  // Halfway between two floats but for a digit that a double does not see.
  Body body;
  const auto request = read(
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1.00000005960464477539062500000001,1.000000059604644775390625]}]})",
      body);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->inputs[0].tensor.values<float>()[0], std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(request->inputs[0].tensor.values<float>()[1], 1.0F);
}

// Decimals of every length with the point anywhere, and middles between floats cut off anywhere.
TEST(Json, plain_decimals_are_read_as_the_library_reads_them) {
  std::mt19937_64 random(5);
  size_t plain = 0;
  const auto check = [&]<class T>(const std::string& text, T) {
    const char* end = text.data() + text.size();
    T quick{}, careful{};
    const char* behind = read_plain_decimal(text.data(), end, quick);
    if (behind == nullptr) return;
    ++plain;
    ASSERT_EQ(behind, end);
    std::from_chars(text.data(), text.data() + text.size(), careful);
    ASSERT_EQ(std::memcmp(&quick, &careful, sizeof(T)), 0) << text;
  };
  for (int i = 0; i < 200'000; ++i) {
    std::string text = std::to_string(random() >> random() % 64);
    if (const size_t behind = random() % 20; behind < text.size())
      text.insert(text.size() - behind, behind > 0 ? "." : "");
    if (random() % 2 == 0) text.insert(0, "-");
    const auto low = static_cast<float>(random() % (1 << 24)) / 1024,
               high = std::nextafter(low, 1e9F);
    const std::string middle = std::to_string((double{low} + double{high}) / 2);
    for (const std::string& one : {text, middle, middle.substr(0, random() % middle.size())}) {
      check(one, float{});
      check(one, double{});
    }
  }
  EXPECT_GT(plain, 500'000U);
}

TEST(Json, lists_mix_plain_numbers_with_others) {
  Body body;
  const auto request =
      read(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[7],"data":)"
           R"([ 1 ,-0.5,1e-5, "NaN" ,0.1234567890123456789012,16777217.0,2E2 ]}]})",
           body);
  ASSERT_TRUE(request) << request.failure().message;
  const auto values = request->inputs[0].tensor.values<float>();
  const float expected[] = {1, -0.5F, 1e-5F, NAN, 0.12345679F, 16777216, 200};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(values[i] == expected[i] || (i == 3 && std::isnan(values[i]))) << i;
  }
}

TEST(Json, what_is_no_number_is_refused) {
  for (const char* data : {"[inf]", "[nan]", "[-inf]", "[1,]", "[\"nan\"]", "[null]", "[{}]",
                           "[1 2]", "[0x1]", "[+1]", "[--1]", "[1e]", "1", "[[[1]]]"}) {
    Body body;
    EXPECT_FALSE(
        read(std::string(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":)") + data +
                 "}]}",
             body))
        << data;
  }
}

TEST(Json, fields_come_in_any_order_and_once) {
  const std::string name = R"("name":"x")", type = R"("datatype":"INT32")",
                    shape = R"("shape":[1,2])", data = R"("data":[[7,8]])";
  std::vector<std::string> fields = {data, name, shape, type};
  do {
    const std::string inputs =
        R"("inputs":[{)" + fields[0] + ',' + fields[1] + ',' + fields[2] + ',' + fields[3] + "}]";
    for (const std::string& text :
         {"{" + inputs + R"(,"id":"a","outputs":[{"name":"y"}]})",
          R"({"outputs":[{"name":"y"}],"other":[{"inputs":1}],"id":"a",)" + inputs + "}"}) {
      Body body;
      const auto request = read(text, body);
      ASSERT_TRUE(request) << text << request.failure().message;
      EXPECT_EQ(request->id, "a");
      EXPECT_EQ(request->outputs.at(0).name, "y");
      EXPECT_EQ(request->inputs.at(0).name, "x");
      EXPECT_EQ(request->inputs[0].tensor.values<int32_t>()[1], 8);
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      std::string text = R"({"inputs":[{)" + fields[i];
      for (const std::string& field : fields) text += ',' + field;
      Body twice, missing, cut;
      EXPECT_FALSE(read(text + "}]}", twice)) << text;
      EXPECT_FALSE(read(text, cut)) << text;
      std::string others;
      for (size_t k = 0; k < fields.size(); ++k) {
        if (k != i) others += (others.empty() ? "" : ",") + fields[k];
      }
      EXPECT_FALSE(read(R"({"inputs":[{)" + others + "}]}", missing)) << others;
    }
  } while (std::next_permutation(fields.begin(), fields.end()));
  Body body;
  EXPECT_FALSE(read(R"({"inputs":[],"inputs":[]})", body));
}

TEST(Json, strings_of_any_bytes_become_json) {
  std::string text;
  append_json_string(text, std::string("a\"\\\n\x01\xff\xc3\xa4\xed\xa0\x80", 11));
  EXPECT_EQ(text,
            "\"a\\\"\\\\\\u000a\\u0001\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Proto, numbers_out_of_a_types_range_are_refused) {
  ProtoWriter contents, input, request;
  contents.tag(4, 0);
  contents.varint(256);
  input.text(1, "x");
  input.text(2, "UINT8");
  input.sizes(3, {1});
  input.message(5, contents);
  request.text(1, "m");
  request.message(5, input);
  const auto read = read_infer_proto(request.bytes);
  ASSERT_FALSE(read);
  EXPECT_NE(read.failure().message.find("range"), std::string::npos);
}

TEST(Proto, every_cut_and_every_changed_byte_is_a_request_or_an_error) {
  ProtoWriter input, parameter, value, request;
  input.text(1, "x");
  input.text(2, "FP32");
  input.sizes(3, {2, 2});
  value.number(2, 7);
  parameter.text(1, "priority");
  parameter.message(2, value);
  request.text(1, "m");
  request.message(4, parameter);
  request.message(5, input);
  request.text(7, std::string(16, 'a'));
  ASSERT_TRUE(read_infer_proto(request.bytes));
  EXPECT_EQ(read_infer_proto(request.bytes)->priority, 7);
  for (size_t i = 0; i < request.bytes.size(); ++i) {
    (void)static_cast<bool>(read_infer_proto(std::string_view(request.bytes).substr(0, i)));
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = request.bytes;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      (void)static_cast<bool>(read_infer_proto(changed));
    }
  }
}

TEST(Grpc, timeouts_and_frames_are_read) {
  EXPECT_EQ(read_grpc_timeout("20m"), std::chrono::milliseconds(20));
  EXPECT_EQ(read_grpc_timeout("1S"), std::chrono::seconds(1));
  EXPECT_EQ(read_grpc_timeout("x"), std::nullopt);
  EXPECT_EQ(read_grpc_timeout("-1S"), std::nullopt);
  std::string_view bytes(
      "\0\0\0\0\x03"
      "abcd",
      9);
  const auto message = next_message(bytes, 100);
  ASSERT_TRUE(message);
  EXPECT_EQ(*message, "abc");
  EXPECT_EQ(bytes, "d");
  std::string_view large("\0\xff\xff\xff\xff", 5);
  EXPECT_FALSE(next_message(large, 100));
}

TEST(Zip, a_small_body_does_not_become_a_huge_one) {
  const std::string zeros(1 << 20, '\0');
  const std::string small = zipped(zeros);
  ASSERT_LT(small.size(), size_t{10'000});
  EXPECT_EQ(unzipped(small, 1 << 20)->size(), zeros.size());
  EXPECT_EQ(unzipped(small, 1000).failure().kind, Kind::too_large);
  for (size_t cut = 0; cut < small.size(); cut += 7)
    EXPECT_FALSE(unzipped(std::string_view(small).substr(0, cut), 1 << 20));
}

TEST(Trace, parents_are_read_as_w3c_writes_them) {
  const auto parent = read_trace_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  ASSERT_TRUE(parent);
  EXPECT_TRUE(parent->sampled);
  EXPECT_EQ(parent->parent, "b7ad6b7169203331");
  EXPECT_FALSE(read_trace_parent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(read_trace_parent("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  EXPECT_FALSE(read_trace_parent("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  EXPECT_FALSE(read_trace_parent(""));
}

// A body as clients write it: model, input, then the tensor's bytes.
TEST(Grpc, the_first_bytes_say_how_long_a_body_is_and_where_its_tensor_begins) {
  ProtoWriter input, request;
  input.text(1, "x");
  request.text(1, "m");
  request.message(5, input);
  const size_t before = request.bytes.size();
  request.text(7, std::string(300, 't'));
  std::string body(5, '\0');
  body[3] = static_cast<char>(request.bytes.size() >> 8);
  body[4] = static_cast<char>(request.bytes.size());
  body += request.bytes;
  const GrpcLayout layout = look_at_grpc(std::string_view(body).substr(0, 100));
  EXPECT_EQ(layout.bytes, body.size());
  EXPECT_EQ(layout.tensor_at, 5 + before + 3);
  EXPECT_EQ(body[layout.tensor_at], 't');
  for (size_t cut = 0; cut < 40; ++cut) {
    const GrpcLayout some = look_at_grpc(std::string_view(body).substr(0, cut));
    EXPECT_TRUE(some.tensor_at == 0 || some.tensor_at == layout.tensor_at) << cut;
  }
}

TEST(Yaml, says_the_same_as_json) {
  const auto yaml = read_yaml(R"(---
# A server's settings.
host: 0.0.0.0      # all addresses
port: 8000
model_control: true
trace_rate: 0.5
record: ~
tokens:
- sha256: "ab\u0063"
  calls: [infer, look]
- token: 'it''s'
  calls:
    - manage
limits: {body_bytes: 1000, "head_seconds": 2.5,
         streams: 3}
models:
  a b:
    versions: {latest: 2}
    labels:
      stable: "2"
  'c: d': {}
  empty: []
note: |
  two
    lines # no comment
folded: >-
  one
  line

  another
)");
  ASSERT_TRUE(yaml) << yaml.failure().message;
  EXPECT_EQ(*yaml, nlohmann::json::parse(R"({"host": "0.0.0.0", "port": 8000, "model_control": true,
    "trace_rate": 0.5, "record": null, "tokens": [{"sha256": "abc", "calls": ["infer", "look"]},
    {"token": "it's", "calls": ["manage"]}], "limits": {"body_bytes": 1000, "head_seconds": 2.5,
    "streams": 3}, "models": {"a b": {"versions": {"latest": 2}, "labels": {"stable": "2"}},
    "c: d": {}, "empty": []}, "note": "two\n  lines # no comment\n",
    "folded": "one line\nanother"})"));
}

TEST(Yaml, what_it_does_not_know_is_refused_with_its_line) {
  const std::pair<std::string, std::string> cases[] = {
      {"a: 1\nb: &x 2\n", "line 2"},  {"a: 1\na: 2\n", "twice"},    {"a: [1, 2\n", "not closed"},
      {"a:\n\tb: 1\n", "tab"},        {"a: 1\n  b: 2\n", "line 2"}, {"a: {b}\n", "name: value"},
      {"- 1\n- 2\nb: 3\n", "line 3"}, {"a: \"x\n", "quoted"},       {"a: 'x\n", "quote"},
      {"a: [1 2]]\n", "bracket"},     {"? a\n: b\n", "line 1"},     {"a: !t 1\n", "plain text"},
      {"a: [1,,2]\n", "missing"},     {"a\nb: 1\n", "line 2"}};
  for (const auto& [text, says] : cases) {
    const auto read = read_yaml(text);
    ASSERT_FALSE(read) << text << " was read as " << *read;
    EXPECT_NE(read.failure().message.find(says), std::string::npos) << read.failure().message;
  }
  const auto deep = read_yaml("a: " + std::string(100, '[') + std::string(100, ']'));
  EXPECT_FALSE(deep);
}

// What is read from blocks can be written in brackets, and the other way round.
TEST(Yaml, blocks_and_brackets_nest_equally_deep) {
  for (size_t depth = 28; depth < 40; ++depth) {
    std::string blocks = "d:\n ";
    for (size_t i = 0; i < depth; ++i) blocks += " -";
    const auto in_blocks = read_yaml(blocks + " e: 1");
    const std::string brackets =
        "{\"d\": " + std::string(depth, '[') + "{\"e\": 1}" + std::string(depth, ']') + "}";
    const auto in_brackets = read_yaml(brackets);
    ASSERT_EQ(static_cast<bool>(in_blocks), static_cast<bool>(in_brackets)) << depth;
    if (in_blocks) {
      EXPECT_EQ(*in_blocks, *in_brackets);
    }
  }
}

// Were each line looked at with all before it, this would take minutes.
TEST(Yaml, a_list_over_many_lines_takes_time_that_grows_as_it_does) {
  constexpr size_t kLines = 300'000;
  std::string text = "a: [0,";
  for (size_t i = 1; i < kLines; ++i) text += "\n  1,";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(read_yaml(text));  // never closed
  const auto yaml = read_yaml(text + "\n  {b: 'it]s', c: don't}]");
  ASSERT_TRUE(yaml) << yaml.failure().message;
  EXPECT_EQ((*yaml)["a"].size(), kLines + 1);
  EXPECT_EQ((*yaml)["a"][kLines]["b"], "it]s");
  EXPECT_EQ((*yaml)["a"][kLines]["c"], "don't");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Yaml, every_cut_and_every_changed_byte_is_a_value_or_an_error) {
  const std::string text = "a: [1, {b: 'c'}]\nd:\n  - e: |\n      f\n  - \"g\"\n# h\n";
  for (size_t i = 0; i <= text.size(); ++i) {
    (void)static_cast<bool>(read_yaml(text.substr(0, i)));
    for (const char c : {'\n', ' ', '"', '[', '}', ':', '-', '\t', '\0'}) {
      std::string changed = text;
      if (i < text.size()) changed[i] = c;
      (void)static_cast<bool>(read_yaml(changed));
    }
  }
}

}  // namespace
}  // namespace sardonyx::serve
