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
