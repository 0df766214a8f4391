#include "score/source.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "npy.h"
#include "npz.h"
#include "score/csv.h"
#include "system.h"
#include "words.h"

namespace sdx::cli::score {
namespace {

namespace fs = std::filesystem;

bool readable_kind(const std::string& path) {
  return path.ends_with(".npy") || path.ends_with(".npz") || path.ends_with(".csv");
}

Result<std::vector<Tensor>> read(const std::string& path, const std::vector<RowInput>& inputs) {
  if (path.ends_with(".csv")) return read_csv(path, inputs);
  std::vector<Tensor> tensors;
  if (path.ends_with(".npy")) {
    if (inputs.size() != 1) {
      return fail("SDX-C0110", "an .npy file holds one input's rows; the model has {} with rows",
                  inputs.size());
    }
    SDX_ASSIGN(Tensor tensor, read_npy(path));
    tensors.push_back(std::move(tensor));
    return tensors;
  }
  if (!path.ends_with(".npz"))
    return fail("SDX-C0111", "rows are read from .npy, .npz and .csv files");
  SDX_ASSIGN(const Npz archive, Npz::open(path));
  for (const RowInput& input : inputs) {
    const auto& names = archive.names();
    const bool named = std::find(names.begin(), names.end(), input.name) != names.end();
    if (!named && (names.size() != 1 || inputs.size() != 1))
      return not_among("SDX-C0112", "it has no array", input.name, names);
    SDX_ASSIGN(Tensor tensor, archive.read(named ? input.name : names[0]));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Status fits(const Tensor& tensor, const RowInput& input, int64_t rows) {
  if (tensor.type() != input.type)
    return fail("SDX-C0113", "input \"{}\" is {}, the file's elements are {}", input.name,
                onnx_name(input.type), onnx_name(tensor.type()));
  bool same = tensor.rank() == input.row.size() + 1;
  for (size_t i = 0; same && i < input.row.size(); ++i)
    same = input.row[i] < 0 || input.row[i] == tensor.dims()[i + 1];
  if (!same) {
    std::string row;
    for (const int64_t size : input.row) row += size < 0 ? ",?" : fmt::format(",{}", size);
    return fail("SDX-C0114", "input \"{}\" takes rows of shape [rows{}], the file's is {}",
                input.name, row, to_string(tensor.dims()));
  }
  if (tensor.dims()[0] != rows)
    return fail("SDX-C0115", "input \"{}\" has {} rows, the first input has {}", input.name,
                tensor.dims()[0], rows);
  return ok();
}

}  // namespace

Result<std::shared_ptr<const Source>> Source::open(const std::string& path,
                                                   const std::vector<RowInput>& inputs) {
  const auto opened = [&]() -> Result<std::shared_ptr<const Source>> {
    SDX_ASSIGN(const FileTimes times, file_times(path));
    auto source = std::make_shared<Source>();
    source->path = path;
    SDX_ASSIGN(source->tensors, read(path, inputs));
    const Tensor& first = source->tensors[0];
    source->stamp = {first.rank() == 0 ? 0 : first.dims()[0], times.bytes, times.modified_ns};
    for (size_t i = 0; i < inputs.size(); ++i)
      SDX_TRY(fits(source->tensors[i], inputs[i], source->stamp.rows));
    return std::shared_ptr<const Source>(std::move(source));
  };
  Result<std::shared_ptr<const Source>> source = opened();
  if (!source) return std::move(source).error().in(path);
  return source;
}

Result<std::vector<std::string>> files_of(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& word : given) {
    std::error_code error;
    if (word.starts_with('@')) {
      SDX_ASSIGN(const std::string text, read_text(word.substr(1)));
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) files.push_back(line);
      }
    } else if (fs::is_directory(word, error)) {
      SDX_ASSIGN(const std::vector<std::string> names, names_in(word));
      for (const std::string& name : names) {
        if (readable_kind(name) && !name.starts_with('.'))
          files.push_back(fmt::format("{}/{}", word, name));
      }
    } else {
      files.push_back(word);
    }
  }
  if (files.empty())
    return fail("SDX-C0117", "no .npy, .npz or .csv file is given: --input FILE, FOLDER or @LIST");
  return files;
}

}  // namespace sdx::cli::score
