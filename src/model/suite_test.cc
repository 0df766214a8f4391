// Every file of ONNX's own backend suites, read, written and read again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "bytes/file.h"
#include "model/fields.h"
#include "model/io.h"
#include "model/tensor.h"
#include "model/text.h"
#include "model/walk.h"

namespace sdx::model {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> suite_files(std::string_view extension) {
  std::vector<fs::path> found;
  std::vector<std::string> roots = {"/usr/lib/python3/dist-packages/onnx/backend/test/data"};
  if (const char* extra = std::getenv("SARDONYX_SUITE_DIR")) roots.emplace_back(extra);
  for (const std::string& root : roots) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
  }
  return found;
}

std::string text_of(const fs::path& path) {
  const auto file = MappedFile::open(path.string(), size_t{1} << 32);
  EXPECT_TRUE(file);
  const auto bytes = (*file)->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> view(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Suite, every_model_is_written_back_byte_for_byte) {
  const auto files = suite_files(".onnx");
  if (files.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  size_t different = 0;
  for (const fs::path& path : files) {
    const auto model = read_file(path.string());
    ASSERT_TRUE(model) << model.error().text();
    ASSERT_TRUE((*model)->graph) << path;
    EXPECT_TRUE((*model)->unknown.empty()) << path;
    const std::string written = write(**model);
    if (written == text_of(path)) continue;
    ++different;
    const auto again = read_bytes(view(written));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(write(**again), written) << path;
  }
  EXPECT_EQ(different, 0u) << "of " << files.size();
}

TEST(Suite, every_model_is_equal_after_printing_and_parsing) {
  for (const fs::path& path : suite_files(".onnx")) {
    const auto model = read_file(path.string());
    ASSERT_TRUE(model) << model.error().text();
    const std::string text = print_text(**model);
    const auto back = parse_text(text);
    ASSERT_TRUE(back) << path << "\n" << back.error().text();
    EXPECT_TRUE(write(*back) == write(**model)) << path << "\n" << text.substr(0, 3000);
  }
}

TEST(Suite, every_tensor_of_every_model_converts_and_comes_back) {
  for (const fs::path& path : suite_files(".onnx")) {
    const auto model = read_file(path.string());
    ASSERT_TRUE(model);
    const Status status = each_tensor(**model, [](const TensorData& data) -> Status {
      SDX_ASSIGN(const Tensor tensor, to_tensor(data));
      SDX_ASSIGN(const Tensor back, to_tensor(from_tensor(tensor)));
      return tensor == back ? ok() : Status(fail("test", "{} differs", data.name));
    });
    EXPECT_TRUE(status) << path << status.error().text();
  }
}

// The declared type of the input or output that a file such as input_0.pb belongs to.
const Type* type_of(const Model& model, const std::string& stem) {
  const auto& values = stem.starts_with("input") ? model.graph->input : model.graph->output;
  const size_t index = std::strtoul(stem.c_str() + stem.find('_') + 1, nullptr, 10);
  return index < values.size() && values[index].type ? &*values[index].type : nullptr;
}

TEST(Suite, every_value_is_read_and_written_back) {
  const auto files = suite_files(".pb");
  if (files.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  size_t different = 0;
  size_t tensors = 0;
  const std::string copy =
      (fs::temp_directory_path() / fmt::format("sdx_value.{}.pb", ::getpid())).string();
  std::shared_ptr<const Model> model;
  fs::path last;
  for (const fs::path& path : files) {
    const fs::path folder = path.parent_path().parent_path();
    if (folder != last) {
      const auto read = read_file((folder / "model.onnx").string());
      ASSERT_TRUE(read) << read.error().text();
      model = *read;
      last = folder;
    }
    const Type* type = type_of(*model, path.stem().string());
    if (type == nullptr) continue;
    const auto value = read_value_file(path.string(), *type);
    ASSERT_TRUE(value) << value.error().text();
    ASSERT_TRUE(write_value_file(*value, *type, copy));
    const auto back = read_value_file(copy, *type);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(equal(*value, *back)) << path;
    if (type->tensor() == nullptr) continue;
    const auto tensor = read_message_file<TensorData>(path.string());
    ++tensors;
    if (write(*tensor) != text_of(path)) ++different;
  }
  EXPECT_EQ(different, 0u);
  EXPECT_GT(tensors, files.size() / 2);  // most values are tensors, so the loop did its work
  fs::remove(copy);
}

}  // namespace
}  // namespace sdx::model
