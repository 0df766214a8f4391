#include "outputs.h"

#include <algorithm>
#include <filesystem>

#include "base/system.h"
#include "model/tensor.h"
#include "npy.h"
#include "npz.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostShown = 6;

std::string element(const Tensor& tensor, size_t i) {
  const DType type = tensor.type();
  if (type == DType::string) {
    const std::string& text = tensor.data<std::string>()[i];
    return fmt::format("\"{}\"", text.size() > 40 ? text.substr(0, 37) + "..." : text);
  }
  if (type == DType::boolean) return get_i64(type, tensor.raw(), i) != 0 ? "true" : "false";
  if (type == DType::u64) return fmt::format("{}", tensor.data<uint64_t>()[i]);
  if (is_integer(type)) return fmt::format("{}", get_i64(type, tensor.raw(), i));
  if (type == DType::f64) return fmt::format("{}", tensor.data<double>()[i]);
  if (is_complex(type)) {
    const DType part = type == DType::c64 ? DType::f32 : DType::f64;
    return fmt::format("{}{:+}i", get_f64(part, tensor.raw(), 2 * i),
                       get_f64(part, tensor.raw(), 2 * i + 1));
  }
  return fmt::format("{}", static_cast<float>(get_f64(type, tensor.raw(), i)));
}

// The declared type if there is one; else a tensor, which is all that can be said of a value
// without one.
model::Type type_of(const model::ValueInfo& info) {
  if (info.type) return *info.type;
  model::Type type;
  type.value = model::TensorType{};
  return type;
}

// A folder that is gone with its content unless kept.
struct Staging {
  fs::path path;
  ~Staging() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

Error io_error(const fs::path& path, const std::error_code& error) {
  return fail("SDX-C0040", "{}: {}", path.string(), error.message());
}

Error not_a_tensor(const std::string& what, const std::string& name) {
  Error error =
      fail("SDX-C0029", "{} \"{}\" is not a tensor, which numpy's files hold", what, name);
  error.help = "--format pb holds every value";
  return error;
}

}  // namespace

std::string summary(const std::string& name, const Value& value) {
  if (value.is_none()) return name + " none";
  if (value.is_sequence()) {
    std::string text = fmt::format("{} sequence of {}", name, value.sequence().size());
    for (size_t i = 0; i < std::min(value.sequence().size(), kMostShown); ++i) {
      text += "\n  " + summary(fmt::format("{}[{}]", name, i), value.sequence()[i]);
    }
    return text;
  }
  if (value.is_map()) return fmt::format("{} map of {}", name, value.map().size());
  const Tensor& tensor = value.tensor();
  std::string text =
      fmt::format("{} {}{} =", name, short_name(tensor.type()), to_string(tensor.dims()));
  for (size_t i = 0; i < std::min(tensor.count(), kMostShown); ++i)
    text += " " + element(tensor, i);
  if (tensor.count() > kMostShown) text += " ...";
  return text;
}

Format format_named(const std::string& name) {
  return name == "npz" ? Format::npz : name == "npy" ? Format::npy : Format::pb;
}

Status write_outputs(const model::Model& model, const std::vector<Value>& values,
                     const std::string& folder, Format format, const std::vector<bool>& chosen) {
  std::vector<Written> named;
  for (size_t i = 0; i < values.size(); ++i) named.push_back({model.graph->output[i], values[i]});
  return write_values(named, folder, format, {}, chosen);
}

Status write_values(const std::vector<Written>& values, const std::string& folder, Format format,
                    const FileNames& names, const std::vector<bool>& chosen) {
  const auto left_out = [&](size_t i) { return !chosen.empty() && !chosen[i]; };
  std::error_code error;
  fs::path target = fs::path(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "dir/" is "dir"
  const bool exists = fs::exists(target, error);
  if (exists && !fs::is_directory(target, error))
    return fail("SDX-C0041", "{} is not a folder", folder);
  const std::string unique = fmt::format(".sardonyx-{}", system::process_number());
  if (!exists && target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error) return io_error(target.parent_path(), error);

  // A new folder takes its place under its name at once; into one that exists, finished files are
  // moved.
  Staging staging{exists ? target / unique : fs::path(target.string() + unique)};
  if (!fs::create_directory(staging.path, error)) {
    const Error failed =
        io_error(staging.path, error ? error : std::make_error_code(std::errc::file_exists));
    staging.path.clear();
    return failed;
  }
  const auto file = [&](size_t i) {
    return fmt::format("{}_{}.{}", names.one, i, format == Format::npy ? "npy" : "pb");
  };
  std::vector<std::string> files;
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    if (left_out(i)) continue;
    const auto& [info, value] = values[i];
    const std::string path = (staging.path / file(i)).string();
    if (format != Format::npz) files.push_back(file(i));
    if (format == Format::pb) {
      SDX_TRY(model::write_value_file(value, type_of(info), path, info.name));
      continue;
    }
    if (!value.is_tensor()) return not_a_tensor(names.one, info.name);
    if (format == Format::npz) {
      arrays.emplace_back(info.name, value.tensor());
    } else if (Status status = write_npy(value.tensor(), path); !status) {
      return std::move(status).error().in(fmt::format("{} \"{}\"", names.one, info.name));
    }
  }
  if (format == Format::npz) {
    files.push_back(names.all + ".npz");
    SDX_TRY(write_npz(arrays, (staging.path / files[0]).string()));
  }
  if (!exists) {
    fs::rename(staging.path, target, error);
    if (error) return io_error(target, error);
    staging.path.clear();
    return ok();
  }
  for (const std::string& name : files) {
    fs::rename(staging.path / name, target / name, error);
    if (error) return io_error(target / name, error);
  }
  for (size_t i = values.size(); format != Format::npz && fs::remove(target / file(i), error);
       ++i) {
  }
  return ok();
}

}  // namespace sdx::cli
