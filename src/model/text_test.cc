#include "model/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "model/fields.h"
#include "model/filler.h"
#include "model/tensor.h"

namespace sdx::model {
namespace {

// The bytes of a model after printing and parsing; the text is in the message if they differ.
void expect_round_trip(const Model& model) {
  const std::string text = print_text(model);
  const auto back = parse_text(text);
  ASSERT_TRUE(back) << back.error().text() << "\n" << text.substr(0, 5000);
  EXPECT_TRUE(write(*back) == write(model)) << text.substr(0, 5000) << "\n" << print_text(*back);
}

Model parsed(std::string_view text) {
  auto model = parse_text(text);
  EXPECT_TRUE(model) << model.error().text();
  return model ? *std::move(model) : Model{};
}

std::string error_of(std::string_view text) {
  const auto model = parse_text(text);
  EXPECT_FALSE(model);
  return model ? "" : model.error().text();
}

constexpr std::string_view kExample = R"(
<
  ir_version: 7,
  opset_import: [ "" : 10 ]
>
agraph (float[N, 128] X, float[128, 10] W, float[10] B) => (float[N, 10] C)
{
    T = MatMul(X, W)   # a comment
    S = Add(T, B)
    C = Softmax(S)
}
)";

TEST(Text, the_example_of_the_specification_is_read) {
  const Model model = parsed(kExample);
  EXPECT_EQ(model.ir_version, 7);
  ASSERT_EQ(model.opset_import.size(), 1u);
  EXPECT_EQ(model.opset_import[0].version, 10);
  ASSERT_TRUE(model.graph);
  EXPECT_EQ(model.graph->name, "agraph");
  ASSERT_EQ(model.graph->input.size(), 3u);
  EXPECT_EQ(*model.graph->input[0].type->tensor()->shape->dim[0].param(), "N");
  EXPECT_EQ(*model.graph->input[1].type->tensor()->shape->dim[1].number(), 10);
  ASSERT_EQ(model.graph->node.size(), 3u);
  EXPECT_EQ(model.graph->node[1].input, (std::vector<std::string>{"T", "B"}));
  EXPECT_EQ(model.graph->node[2].op_type, "Softmax");
  expect_round_trip(model);
}

TEST(Text, printing_follows_the_syntax) {
  EXPECT_EQ(print_text(parsed(kExample)), R"(<
  ir_version: 7,
  opset_import: ["" : 10]
>
agraph (float[N, 128] X, float[128, 10] W, float[10] B) => (float[N, 10] C) {
  T = MatMul (X, W)
  S = Add (T, B)
  C = Softmax (S)
}
)");
}

TEST(Text, every_kind_of_attribute_and_type_is_read_and_printed) {
  const Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21, "my.domain" : 1], producer_name: "a \"b\" \\",
 metadata_props: ["k": "v", "l": ""]>
g (float[] a, int64 s, seq(float[?, "a-b"]) q, map(int64, optional(string[])) m,
   sparse_tensor(double[3]) p, opaque(my.kind, thing) o, opaque() e, untyped) => (float y)
<float[2] w = {1, -0}, double d = {2.5e-300}, string[2] t = {"x", "y\"z"}, bool[1] b = {1},
 float16[1] h = {15360}, uint64[1] u = {18446744073709551615}, int4[3] n = {33, 1},
 float[4] x = ["location": "x.bin", "offset": "0"], float hidden>
{
  [first] y, "", z = my.domain.Op:fast <i = 3, f = 1.5, s = "text", ints = [1, 2], floats = [1, 2.5],
    strings = ["a", "b"], t = float[2] {1, 2}, named: tensor = int64 one = {7},
    typed: type_proto = seq(float[N]), none: ints = [], whole: float = 3,
    types: type_protos = [float, int64[]], tensors: tensors = [float {1}, int8[2] {1, -1}],
    sparse: sparse_tensor = !{values: {dims: [1], data_type: 1, float_data: [5], name: "v"},
      dims: [4]}> (a, "", w)
  = NoOutput ()
  c = If (s) <then_branch = one () => (float r) { r = Identity (y) }, else_branch: graph = two () => (r) { r = Neg (y) }>
  d1 = my.domain.F <alpha: float = @beta, gamma = @delta> (,a)
}
)");
  ASSERT_TRUE(model.graph);
  const Node& node = model.graph->node[0];
  using Kind = AttributeType;
  const std::pair<std::string_view, Kind> kinds[] = {{"i", Kind::i},
                                                     {"f", Kind::f},
                                                     {"s", Kind::s},
                                                     {"ints", Kind::ints},
                                                     {"floats", Kind::floats},
                                                     {"strings", Kind::strings},
                                                     {"t", Kind::t},
                                                     {"named", Kind::t},
                                                     {"typed", Kind::type},
                                                     {"none", Kind::ints},
                                                     {"whole", Kind::f},
                                                     {"types", Kind::types},
                                                     {"tensors", Kind::tensors},
                                                     {"sparse", Kind::sparse_tensor}};
  for (const auto& [name, kind] : kinds) {
    ASSERT_NE(node.find(name), nullptr) << name;
    EXPECT_EQ(node.find(name)->type, kind) << name;
  }
  EXPECT_EQ(node.domain, "my.domain");
  EXPECT_EQ(node.overload, "fast");
  EXPECT_EQ(node.output, (std::vector<std::string>{"y", "", "z"}));
  EXPECT_EQ(node.find("floats")->floats, (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(model.graph->node[1].output.size(), 0u);
  EXPECT_EQ(model.graph->node[2].find("else_branch")->g->name, "two");
  EXPECT_EQ(model.graph->node[3].input, (std::vector<std::string>{"", "a"}));
  EXPECT_EQ(model.graph->node[3].find("gamma")->ref_attr_name, "delta");
  ASSERT_EQ(model.graph->initializer.size(), 8u);
  ASSERT_EQ(model.graph->value_info.size(), 1u);
  EXPECT_TRUE(std::signbit(to_tensor(model.graph->initializer[0])->values<float>()[1]));
  EXPECT_FALSE(model.graph->input[7].type);
  expect_round_trip(model);
}

TEST(Text, functions_have_attributes_defaults_overloads_and_imports) {
  const Model model = parsed(R"(
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x) => (float[N] y) { y = local.f:v2 <alpha = 2.0> (x) }
<domain: "local", overload: "v2", opset_import: ["" : 17], doc_string: "scales">
f <alpha, beta: float = 0.5, gamma> (float[N] x, "odd name") => (y) <float[N] t> {
  a = Constant <value_float: float = @alpha> ()
  t = Mul (x, a)
  y = Identity (t)
}
)");
  ASSERT_EQ(model.functions.size(), 1u);
  const Function& f = model.functions[0];
  EXPECT_EQ(f.attribute, (std::vector<std::string>{"alpha", "gamma"}));
  ASSERT_EQ(f.attribute_proto.size(), 1u);
  EXPECT_EQ(f.attribute_proto[0].f, 0.5f);
  EXPECT_EQ(f.input[1], "odd name");
  EXPECT_EQ(f.value_info.size(), 2u);
  EXPECT_EQ(f.overload, "v2");
  expect_round_trip(model);
}

TEST(Text, a_model_with_every_field_set_comes_back_byte_for_byte) {
  for (const int depth : {4, 6, 8, 9}) {
    Model model;
    Filler().fill(model, depth);
    expect_round_trip(model);
  }
}

TEST(Text, floats_come_back_bit_for_bit) {
  std::mt19937 random(5);
  std::vector<float> values = {0.0f,
                               -0.0f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::max()};
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  std::vector<double> doubles;
  for (int i = 0; i < 20000; ++i) {
    doubles.push_back(std::bit_cast<double>(uint64_t{random()} << 32 | random()));
  }
  for (const bool odd_nan : {false, true}) {
    if (odd_nan) values.push_back(std::bit_cast<float>(0x7fc00001u));
    Model model;
    Graph& graph = model.graph.emplace();
    const auto add = [&](Payload TensorData::*member, DType type, const auto& list) {
      TensorData& tensor = graph.initializer.emplace_back();
      set(tensor, &TensorData::data_type, static_cast<int32_t>(type));
      tensor.dims = {static_cast<int64_t>(list.size())};
      set(tensor, member, Payload{std::as_bytes(std::span(list)), nullptr});
    };
    add(&TensorData::float_data, DType::f32, values);
    add(&TensorData::raw_data, DType::f32, values);
    add(&TensorData::double_data, DType::f64, doubles);
    add(&TensorData::raw_data, DType::f64, doubles);
    Attribute& attribute = graph.node.emplace_back().attribute.emplace_back();
    attribute.type = AttributeType::floats;
    attribute.floats = values;
    Attribute& single = graph.node[0].attribute.emplace_back();
    single.type = AttributeType::f;
    single.f = values.back();
    expect_round_trip(model);
  }
}

TEST(Text, raw_elements_of_every_type_come_back_byte_for_byte) {
  std::string bytes(96, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(37 * i + 128);
  Model model;
  Graph& graph = model.graph.emplace();
  for (int type = 0; type <= kDTypeCount; ++type) {
    for (const size_t size : {0, 95, 96}) {  // no multiple of most types' width too
      TensorData& tensor = graph.initializer.emplace_back();
      tensor.name = fmt::format("t{}_{}", type, size);
      set(tensor, &TensorData::data_type, type);
      set(tensor, &TensorData::raw_data,
          Payload{std::as_bytes(std::span(bytes).first(size)), nullptr});
    }
  }
  expect_round_trip(model);
}

TEST(Text, elements_become_the_field_of_their_type_or_raw_data) {
  const Model model = parsed(R"(g () => () <
    int8[3] a = {-1, 2, 127}
    , int8[3] b = {-1, 2, 127} #!tensor raw
    , float[2] c = {1, nan} #!tensor raw, doc_string: "line\nline"
  > {})");
  const auto& list = model.graph->initializer;
  EXPECT_TRUE(list[0].raw_data.empty());
  EXPECT_EQ(list[1].raw_data.size(), 3u);
  EXPECT_EQ(*to_tensor(list[0]), *to_tensor(list[1]));
  EXPECT_EQ(list[2].doc_string, "line\nline");
  EXPECT_EQ(list[2].raw_data.size(), 8u);
}

TEST(Text, names_that_are_no_identifiers_are_carried) {
  Model model;
  Graph& graph = model.graph.emplace();
  graph.name = "torch-jit-export";
  Node& node = graph.node.emplace_back();
  node.name = "a/b:0";
  node.op_type = "My Op";
  node.domain = "com.some-one";
  node.overload = "1";
  node.input = {"float", "x.1", "", "nan", "\xff\x01"};
  node.output = {"seq", "0"};
  Attribute& attribute = node.attribute.emplace_back();
  attribute.name = "the attribute";
  attribute.type = AttributeType::g;
  attribute.g.emplace().name = "sub graph";
  Attribute& bytes = node.attribute.emplace_back();
  bytes.name = "s";
  bytes.type = AttributeType::s;
  bytes.s = std::string("\0\xff\n", 3);
  expect_round_trip(model);
}

TEST(Text, an_error_has_line_column_and_a_caret) {
  EXPECT_EQ(error_of("<ir_version: 7>\ng (float[N] x) => (y) {\n  y = Add(x, 3)\n}\n"),
            "error[SDX-M0101]: expected \")\", found \"3)\"\n"
            "  --> line 3, column 14\n"
            "   |    y = Add(x, 3)\n"
            "   |               ^");
}

TEST(Text, malformed_texts_are_refused_with_a_reason) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "expected a name, found the end of the text"},
      {"<ir_version: x> g () => () {}", "expected an integer"},
      {"<size: 3> g () => () {}", "a field of the model"},
      {"g () => () { a = B <x: thing = 3> () }", "a type of attribute"},
      {"g () => () { a = B <x = []> () }", "needs its type"},
      {"g () => () { a = B <x: int = [1]> () }", "one value, not a list"},
      {"g () => () { a = B <x: ints = 1> () }", "is a list"},
      {"g () => () { a = B <x: int = \"s\"> () }", "a value of type int"},
      {"g () => () { a = B <x = [1, \"s\"]> () }", "an item of type int"},
      {"g () => () { a = B (", "\")\""},
      {"g () => () { a = B ()", "a node or \"}\""},
      {"g () => () { a = B (\"x) }", "does not end"},
      {"g () => () <float[N] x = {1}> {}", "must be numbers"},
      {"g () => () <float[] x = {1}> {}", "must be given"},
      {"g () => () <seq(float) x = {1}> {}", "type of a tensor"},
      {"g () => () <x = {1}> {}", "type of a tensor"},
      {"g () => () <float[1] x = {1e999}> {}", "no number of this type"},
      {"g () => () <int8[1] x = {1.5}> {}", "an integer"},
      {"g () => () <int8[1] x = {3000000000}> {}", "32 bits"},
      {"g () => () <int64[1] x = {99999999999999999999}> {}", "64 bits"},
      {"g () => () <uint8[1] x = {300} #!tensor raw\n> {}", "wider than its type"},
      {"g (float[2 x) => () {}", "\"]\""},
      {"g () => () {} #!graph no_field: 3", "has no field \"no_field\""},
      {"g () => () {} #!node name: \"n\"", "does not belong here"},
      {"g () => () { #!node name: \"n\"\n }", "does not belong here"},
      {"g () => () {} #!graph name: 3", "quoted string"},
      {"g () => () {} #!graph name: \"x\" y", "\",\""},
      {"g () => () {} trailing", "\"(\""},
  };
  for (const auto& [text, reason] : cases) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(reason), error.npos) << text << "\n" << error;
    EXPECT_NE(error.find("line "), error.npos) << error;
  }
}

TEST(Text, nesting_is_bounded) {
  std::string types = "g (", graphs = "g () => () {";
  for (int i = 0; i < 100000; ++i) types += "seq(";
  EXPECT_NE(error_of(types).find("within each other"), std::string::npos);
  for (int i = 0; i < 100000; ++i) graphs += "a = B <c: graph = g () => () {";
  EXPECT_NE(error_of(graphs).find("within each other"), std::string::npos);
  std::string fields = "g () => () {} #!graph node: [{attribute: [{g: ";
  for (int i = 0; i < 100000; ++i) fields += "{node: [{attribute: [{g: ";
  EXPECT_NE(error_of(fields).find("within each other"), std::string::npos);
}

TEST(Text, any_bytes_give_a_model_or_an_error) {
  Model full;
  Filler().fill(full, 5);
  const std::string text = print_text(full) + std::string(kExample);
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = text;
    for (size_t i = 0; i < 1 + random() % 4; ++i) {
      const size_t at = random() % changed.size();
      if (random() % 3 == 0) {
        changed.erase(at, random() % 20);
      } else if (random() % 2 == 0) {
        changed.insert(at, text.substr(random() % text.size(), random() % 20));
      } else {
        changed[at] = static_cast<char>(random());
      }
    }
    const auto model = parse_text(changed);
    if (model) expect_round_trip(*model);
  }
}

}  // namespace
}  // namespace sdx::model
