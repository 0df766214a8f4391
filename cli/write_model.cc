#include "write_model.h"

#include <cstdio>
#include <filesystem>

#include "bytes/file.h"
#include "model/fields.h"
#include "model/io.h"
#include "model/tensor.h"
#include "model/text.h"
#include "model/walk.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPage = 4096;  // weights begin where a mapping may

Status write_bytes(std::string_view bytes, const std::string& path) {
  if (path == "-") {
    // A failure to write stays in the stream, where the program looks for it when it ends.
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return ok();
  }
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  return file->commit();
}

bool same_folder(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::path(a).parent_path(), ignored) ==
         fs::weakly_canonical(fs::path(b).parent_path(), ignored);
}

model::StringEntry entry(const char* key, std::string value) {
  model::StringEntry made;
  set(made, &model::StringEntry::key, std::string(key));
  set(made, &model::StringEntry::value, std::move(value));
  return made;
}

// Appends a tensor's bytes to the file and lets the tensor point there.
Status move_out(model::TensorData& tensor, FileWriter& file, size_t& end, const Writing& writing) {
  if (tensor.dtype() == DType::string) return ok();  // ONNX keeps strings in the message
  SDX_ASSIGN(const model::Payload data, model::data_of(tensor));
  if (data.size() < writing.least) return ok();
  const std::vector<std::byte> gap((kPage - end % kPage) % kPage);
  SDX_TRY(file.write(gap));
  SDX_TRY(file.write(data.bytes));
  const size_t start = end + gap.size();
  end = start + data.size();
  model::TensorData moved;
  moved.dims = tensor.dims;
  set(moved, &model::TensorData::data_type, tensor.data_type);
  if (!tensor.name.empty()) set(moved, &model::TensorData::name, tensor.name);
  if (!tensor.doc_string.empty()) set(moved, &model::TensorData::doc_string, tensor.doc_string);
  moved.metadata_props = tensor.metadata_props;
  moved.external_data = {entry("location", writing.external),
                         entry("offset", std::to_string(start)),
                         entry("length", std::to_string(data.size()))};
  set(moved, &model::TensorData::data_location, model::DataLocation::external);
  tensor = std::move(moved);
  return ok();
}

Status write_external(model::Model& model, const Writing& writing) {
  if (fs::path(writing.external).has_parent_path() || writing.out == "-") {
    Error error =
        fail("SDX-C0062", "\"{}\": weights go into a file beside the model", writing.external);
    error.help = "give a file's name without a folder, and a file for the model";
    return error;
  }
  const fs::path target = fs::path(writing.out).parent_path() / writing.external;
  SDX_ASSIGN(const auto file, FileWriter::create(target.string()));
  size_t end = 0;
  if (model.graph) {
    for (model::TensorData& tensor : model.graph->initializer)
      SDX_TRY(move_out(tensor, *file, end, writing));
  }
  return file->commit();
}

}  // namespace

bool has_external_data(const model::Model& model) {
  bool found = false;
  const Status status = model::each_tensor(model, [&](const model::TensorData& tensor) -> Status {
    found = found || tensor.data_location == model::DataLocation::external;
    return ok();
  });
  return status && found;
}

Status can_be_written(const std::string& out) {
  if (out == "-" || out.ends_with(".onnx") || model::is_text_path(out)) return ok();
  return fail("SDX-C0060",
              "\"{}\": models are written as .onnx, as text as .txt or .onnxtxt, or to - as bytes",
              out);
}

Status write_model(model::Model model, const Writing& writing) {
  SDX_TRY(can_be_written(writing.out));
  if (writing.embed || !writing.external.empty()) SDX_TRY(model::embed_external(model));
  if (!writing.external.empty()) {
    SDX_TRY(write_external(model, writing));
  } else if (has_external_data(model) &&
             (writing.out == "-" || !same_folder(writing.in, writing.out))) {
    Error error =
        fail("SDX-C0061", "the model's external data stays beside {}, where {} would not find it",
             writing.in, writing.out);
    error.help = "--embed puts the data into the file, --external FILE into one beside it";
    return error;
  }
  return write_bytes(
      model::is_text_path(writing.out) ? model::print_text(model) : model::write(model),
      writing.out);
}

}  // namespace sdx::cli
