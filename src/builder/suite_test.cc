// Optimisation keeps every bit: ONNX's own models, optimised and not, on their own inputs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "api/digest.h"
#include "api/engine.h"
#include "model/tensor.h"

namespace sdx {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models() {
  std::vector<fs::path> found;
  std::vector<std::string> roots = {"/usr/lib/python3/dist-packages/onnx/backend/test/data"};
  if (const char* extra = std::getenv("SARDONYX_SUITE_DIR")) roots.emplace_back(extra);
  for (const std::string& root : roots) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().filename() == "model.onnx") found.push_back(entry.path());
    }
  }
  return found;
}

// The outputs, or nothing where the model does not run.
std::optional<std::vector<Value>> outputs_of(const std::shared_ptr<const model::Model>& model,
                                             const std::vector<Value>& inputs, bool optimize) {
  CompileOptions options;
  options.threads = 1;
  options.optimize = optimize;
  options.reference = !optimize;
  const auto compiled = compile(model, options);
  if (!compiled) return std::nullopt;
  run::Session session(*compiled);
  const auto outputs = session.run(inputs);
  if (!outputs) return std::nullopt;
  return *outputs;
}

std::string digests(const std::vector<Value>& values) {
  std::string all;
  for (const Value& value : values) {
    for (const DigestLine& line : digest("y", value)) all += line.text() + "\n";
  }
  return all;
}

TEST(Suite, optimised_models_give_the_bits_of_the_references_and_the_inferred_facts) {
  const std::vector<fs::path> found = models();
  if (found.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  size_t compared = 0;
  for (const fs::path& path : found) {
    const auto model = model::read_file(path.string());
    if (!model || !(*model)->graph) continue;
    std::vector<Value> inputs;
    for (size_t i = 0; i < (*model)->graph->input.size(); ++i) {
      const fs::path file = path.parent_path() / "test_data_set_0" / fmt::format("input_{}.pb", i);
      if (!fs::exists(file) || !(*model)->graph->input[i].type) break;
      auto value = model::read_value_file(file.string(), *(*model)->graph->input[i].type);
      if (!value) break;
      inputs.push_back(*std::move(value));
    }
    if (inputs.size() != (*model)->graph->input.size()) continue;
    const auto fast = outputs_of(*model, inputs, true), plain = outputs_of(*model, inputs, false);
    EXPECT_EQ(fast.has_value(), plain.has_value()) << path;
    if (!fast || !plain) continue;
    EXPECT_EQ(digests(*fast), digests(*plain)) << path;
    const auto graph = type(*model);
    ASSERT_TRUE(graph.ok()) << path;
    for (size_t i = 0; i < fast->size(); ++i) {
      const Fact& fact = graph->fact(graph->outputs()[i].outlet);
      EXPECT_TRUE(admits(fact, (*fast)[i])) << path << ": output " << i << " is no " << fact.text();
    }
    ++compared;
  }
  EXPECT_GT(compared, found.size() / 2) << "of " << found.size();
}

}  // namespace
}  // namespace sdx
