// Whole models, from file to outputs.
#include "api/engine.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "api/digest.h"
#include "rewrite/rewrite.h"
#include "typed/text.h"

namespace sdx {
namespace {

std::vector<std::string> models() {
  const std::filesystem::path root = SDX_ROOT;
  return {(root / "tests/data/softmax.onnx").string(), (root / "tests/data/static.onnx").string(),
          (root / "examples/digits/digits.onnx").string()};
}

// Ones of every input's shape, symbols being 2.
std::vector<Value> ones(const typed::Graph& graph) {
  std::vector<Value> values;
  for (const typed::Outlet input : graph.inputs()) {
    Dims dims;
    for (const Dim& dim : *graph.fact(input).shape)
      dims.push_back(dim.is_const() ? dim.value() : 2);
    Tensor tensor = Tensor::make(graph.fact(input).type, dims);
    for (size_t i = 0; i < tensor.count(); ++i) set_f64(tensor.type(), tensor.raw(), i, 1);
    values.emplace_back(std::move(tensor));
  }
  return values;
}

std::string digest_of(const typed::Graph& graph) {
  CompileOptions options;
  options.threads = 1;
  const auto compiled = compile(graph, options);
  if (!compiled) return compiled.error().text();
  const auto outputs = run::Session(*compiled).run(ones(graph));
  if (!outputs) return outputs.error().text();
  std::string text;
  for (const Value& value : *outputs) text += digest("", value)[0].text();
  return text;
}

TEST(Engine, a_typed_graph_comes_back_from_its_text_and_computes_the_same) {
  for (const std::string& path : models()) {
    const auto model = model::read_file(path);
    ASSERT_TRUE(model) << model.error().text();
    const auto graph = type(*model);
    ASSERT_TRUE(graph) << graph.error().text();
    const auto optimized = rewrite::optimize(graph->without_dead());
    ASSERT_TRUE(optimized) << optimized.error().text();
    for (const typed::Graph* original : {&*graph, &*optimized}) {
      typed::TextTable table;
      const std::string text = typed::print(*original, &table);
      const auto again = typed::parse(text, table);
      ASSERT_TRUE(again) << again.error().text() << "\n" << text;
      EXPECT_EQ(typed::print(*again), text);
      EXPECT_EQ(digest_of(*again), digest_of(*original)) << text;
    }
  }
}

TEST(Engine, the_whole_road_in_one_call_gives_what_its_stages_give) {
  for (const std::string& path : models()) {
    const auto model = model::read_file(path);
    ASSERT_TRUE(model) << model.error().text();
    const auto graph = type(*model);
    ASSERT_TRUE(graph) << graph.error().text();
    CompileOptions options;
    options.threads = 1;
    const auto outputs = answer(path, ones(*graph), options);
    ASSERT_TRUE(outputs) << outputs.error().text();
    std::string text;
    for (const Value& value : *outputs) text += digest("", value)[0].text();
    EXPECT_EQ(text, digest_of(*graph)) << path;
  }
}

// Numbers of either sign, different everywhere.
std::vector<Value> different(const typed::Graph& graph) {
  std::vector<Value> values;
  uint32_t seed = 1;
  for (const typed::Outlet input : graph.inputs()) {
    Tensor tensor = Tensor::make(graph.fact(input).type, graph.fact(input).dims());
    for (size_t i = 0; i < tensor.count(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      set_f64(tensor.type(), tensor.raw(), i, double(int32_t(seed)) * 0x1p-30);
    }
    values.emplace_back(std::move(tensor));
  }
  return values;
}

TEST(Engine, what_follows_a_product_on_its_blocks_has_the_bits_of_steps_on_their_own) {
  const char* product = R"(graph "g" {{
      %x = input : {0}[2,19,40]
      %w = input : {0}[40,{1}]
      %b = input : {0}[{1}]
      %r = input : {0}[2,19,{1}]
      %h = input : {0}[19,1]
      %s = input : {0}[]
      %1 = MatMul.13 (%x, %w)
      %2 = Add.14 (%1, %b)
      %3 = Mul.14 (%2, %h)
      %4 = Gelu.20 (%3)
      %5 = Mul.14 (%4, %s)
      %6 = Add.14 (%r, %5)
      output "y" = %6
    }})";
  const char* bytes = R"(graph "g" {{
      %x = input : f32[2,19,40]
      %w = input : f32[40,{1}]
      %b = input : f32[{1}]
      %r = input : f32[2,19,{1}]
      %1, %2, %3 = DynamicQuantizeLinear.11 (%x)
      %4, %5, %6 = DynamicQuantizeLinear.11 (%w)
      %7 = Mul.14 (%2, %5)
      %8 = MatMulInteger.10 (%1, %4, %3, %6)
      %9 = Cast.13 {{to=1}} (%8)
      %10 = Mul.14 (%9, %7)
      %11 = Add.14 (%10, %b)
      %12 = Add.14 (%11, %r)
      output "y" = %12
    }})";
  for (const char* text : {product, bytes}) {
    for (const char* type : {"f32", "f16", "bf16"}) {
      for (const int columns : {9, 96, 200, 1100}) {
        const auto graph = typed::parse(fmt::format(fmt::runtime(text), type, columns), {});
        ASSERT_TRUE(graph) << graph.error().text();
        std::vector<Value> expected;
        for (const bool optimize : {false, true}) {
          for (const int threads : {1, 2}) {
            CompileOptions options;
            options.threads = threads;
            options.optimize = optimize;
            const auto compiled = compile(*graph, options);
            ASSERT_TRUE(compiled) << compiled.error().text();
            const auto outputs = run::Session(*compiled).run(different(*graph));
            ASSERT_TRUE(outputs) << outputs.error().text();
            if (expected.empty()) expected = *outputs;
            EXPECT_TRUE(equal((*outputs)[0], expected[0])) << type << " " << columns;
          }
        }
      }
    }
  }
}

TEST(Engine, a_type_error_names_the_file_the_node_and_its_inputs) {
  const auto model =
      model::read_file(std::filesystem::path(models()[0]).parent_path() / "badshape.onnx");
  ASSERT_TRUE(model) << model.error().text();
  const auto graph = type(*model);
  ASSERT_FALSE(graph);
  const std::string text = graph.error().text();
  EXPECT_NE(text.find("badshape.onnx: graph \"main\", node 0 \"product\" (MatMul, ai.onnx 13)\n   "
                      "|  A = f32[5,7]  input \"x\"\n"
                      "   |  B = f32[3,4]  constant \"w\""),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace sdx
