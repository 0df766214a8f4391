#include "score/job.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/fitting.h"
#include "bytes/file.h"
#include "system.h"

namespace sdx::cli::score {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "sardonyx-score-1";
constexpr size_t kMostText = fitting(uint64_t{64} << 30);

Error no_job(std::string_view what) { return fail("SDX-C0100", "not a scoring job: {}", what); }

// `read` of the text as JSON, whose exceptions are errors here.
template <class T, class Read>
Result<T> parsed(const std::string& text, std::string_view what, const Read& read) {
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    return fail("SDX-C0101", "{} cannot be read: {}", what, error.what());
  }
}

}  // namespace

std::string Job::text() const {
  Json made = Json::array();
  for (const Output& output : outputs)
    made.push_back({{"name", output.name}, {"type", output.type}});
  const Json json = {{"format", kFormat}, {"model", model},     {"numerics", numerics},
                     {"outputs", made},   {"sources", sources}, {"part_rows", part_rows}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Job> Job::parse(const std::string& text) {
  return parsed<Job>(text, "job.json", [](const Json& json) -> Result<Job> {
    if (json.at("format") != kFormat) return no_job("its format is not " + std::string(kFormat));
    Job job;
    job.model = json.at("model");
    job.numerics = json.at("numerics");
    for (const Json& output : json.at("outputs"))
      job.outputs.push_back({output.at("name"), output.at("type")});
    job.sources = json.at("sources").get<std::vector<std::string>>();
    job.part_rows = json.at("part_rows");
    return job;
  });
}

std::string Part::name() const { return fmt::format("part-{:05}-{:012}", source, first); }

std::string Part::text(const Job& job) const {
  Json made = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    made.push_back({{"name", job.outputs[i].name},
                    {"file", outputs[i].file},
                    {"shape", outputs[i].shape},
                    {"bytes", outputs[i].bytes},
                    {"sha256", outputs[i].sha256}});
  }
  const Json json = {{"part", name()},
                     {"model", job.model},
                     {"source", source},
                     {"source_name", job.sources[source]},
                     {"first_row", first},
                     {"rows", rows},
                     {"source_rows", stamp.rows},
                     {"source_bytes", stamp.bytes},
                     {"source_changed", stamp.changed},
                     {"outputs", made}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Part> Part::parse(const std::string& text, const Job& job) {
  return parsed<Part>(text, "the manifest", [&](const Json& json) -> Result<Part> {
    Part part;
    part.source = json.at("source");
    part.first = json.at("first_row");
    part.rows = json.at("rows");
    part.stamp = {json.at("source_rows"), json.at("source_bytes"), json.at("source_changed")};
    if (json.at("model") != job.model)
      return fail("SDX-C0102", "the part was scored by another model: {}",
                  json.at("model").get<std::string>());
    if (part.source >= job.sources.size())
      return fail("SDX-C0103", "source {} of {}", part.source, job.sources.size());
    if (part.first < 0 || part.rows < 0 || part.first > part.stamp.rows - part.rows)
      return fail("SDX-C0103", "rows {} to {} of {}", part.first, part.first + part.rows,
                  part.stamp.rows);
    for (const Json& made : json.at("outputs"))
      part.outputs.push_back(
          {made.at("file"), made.at("shape").get<Dims>(), made.at("bytes"), made.at("sha256")});
    if (part.outputs.size() != (part.rows == 0 ? 0 : job.outputs.size()))
      return fail("SDX-C0103", "{} outputs; the job has {}", part.outputs.size(),
                  job.outputs.size());
    for (const Made& made : part.outputs) {
      if (made.shape.empty() || made.shape[0] != part.rows)
        return fail("SDX-C0103", "{}: shape {} for {} rows", made.file, to_string(made.shape),
                    part.rows);
      if (made.file.find('/') != std::string::npos)
        return fail("SDX-C0103", "\"{}\" is no file of the job's folder", made.file);
    }
    return part;
  });
}

std::vector<Part> parts_of(const Job& job, size_t source, const Stamp& stamp) {
  const int64_t rows = job.part_rows == 0 ? std::max<int64_t>(stamp.rows, 1) : job.part_rows;
  std::vector<Part> parts;
  for (int64_t first = 0; first == 0 || first < stamp.rows; first += rows)
    parts.push_back({source, first, std::min(rows, stamp.rows - first), stamp, {}});
  return parts;
}

Status write_whole(const std::string& path, const std::string& text) {
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  SDX_TRY(file->commit());
  SDX_TRY(sync(path));
  return sync(folder_of(path));
}

Result<std::string> read_text(const std::string& path) {
  SDX_ASSIGN(const auto file, MappedFile::open(path, kMostText));
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error) return fail("SDX-C0105", "{} cannot be listed: {}", folder, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

Status begin(const Job& job, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("SDX-C0107", "{} cannot be made: {}", folder, error.message());
  const std::string path = folder + "/job.json";
  // Of processes that begin together each writes the same; whoever says something else finds out.
  if (!fs::exists(path, error)) SDX_TRY(write_whole(path, job.text()));
  SDX_ASSIGN(const Job there, read_job(folder));
  if (there == job) return ok();
  const auto differs = [&]() -> std::string {
    if (there.model != job.model)
      return fmt::format("it was begun with another model, SHA-256 {}", there.model);
    if (there.numerics != job.numerics) return "it was begun with --numerics " + there.numerics;
    if (there.sources != job.sources)
      return fmt::format("it was begun with other inputs, {} of them", there.sources.size());
    if (there.outputs != job.outputs) return "it was begun with other outputs";
    return fmt::format("it was begun with --part-rows {}", there.part_rows);
  };
  Error differing = fail("SDX-C0106", "{} holds another job: {}", folder, differs());
  differing.help = "finish that one, or give another folder";
  return differing;
}

Result<Job> read_job(const std::string& folder) {
  const std::string path = folder + "/job.json";
  SDX_ASSIGN(const std::string text, read_text(path));
  Result<Job> job = Job::parse(text);
  if (!job) return std::move(job).error().in(path);
  return job;
}

bool files_are_there(const Part& part, const std::string& folder) {
  return std::all_of(part.outputs.begin(), part.outputs.end(), [&](const Part::Made& made) {
    std::error_code error;
    return fs::file_size(folder + "/" + made.file, error) == made.bytes && !error;
  });
}

void forget(const Part& part, const std::string& folder) {
  std::remove((folder + "/" + part.name() + ".json").c_str());
}

Result<std::vector<Part>> manifests(const Job& job, const std::string& folder,
                                    std::vector<Error>& broken) {
  SDX_ASSIGN(const std::vector<std::string> names, names_in(folder));
  std::vector<Part> parts;
  for (const std::string& name : names) {
    if (!name.starts_with("part-") || !name.ends_with(".json")) continue;
    const std::string path = fmt::format("{}/{}", folder, name);
    const Result<std::string> text = read_text(path);
    Result<Part> part = text ? Part::parse(*text, job) : Result<Part>(text.error());
    if (part && part->name() + ".json" != name)
      part = fail("SDX-C0103", "it is the manifest of {}", part->name());
    if (part) {
      parts.push_back(*std::move(part));
    } else {
      broken.push_back(std::move(part).error().in(path));
    }
  }
  return parts;
}

}  // namespace sdx::cli::score
