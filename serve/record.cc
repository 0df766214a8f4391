#include "serve/record.h"

#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "serve/log.h"
#include "serve/model/file_digest.h"

namespace sardonyx::serve {
namespace {

using nlohmann::json;

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

std::optional<std::string> from_base64(const std::string& text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  if (text.size() % 4 != 0) return std::nullopt;
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  size_t padding = 0;
  while (padding < text.size() && padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  bytes.resize(static_cast<size_t>(size) - padding);
  return bytes;
}

json tensor_json(const std::string& name, const Tensor& tensor) {
  return {{"name", name}, {"datatype", datatype_of(tensor.type())}, {"shape", tensor.dims()}};
}

bool asks(const InferRequest& request) {
  return std::any_of(request.others.begin(), request.others.end(), [](const auto& parameter) {
    return parameter.first == "record" && parameter.second == Parameter(true);
  });
}

Failure unreadable(const std::string& file, const std::string& what) {
  return {Kind::bad_request, "SDX-V0450: " + file + ": " + what};
}

struct Recorded {
  std::string model, sha256;
  bool strict = false;
  std::vector<InputTensor> inputs;
  std::vector<std::pair<std::string, std::string>> outputs;  // name, "TYPE SHAPE SHA-256"
};

std::string line_of(std::string_view datatype, const Dims& dims, const std::string& digest) {
  return std::string(datatype) + ' ' + text_of(dims) + ' ' + digest;
}

Outcome<Recorded> read_record(const std::string& file) {
  std::ifstream stream(file);
  const json record = json::parse(stream, nullptr, false);
  if (!record.is_object()) return unreadable(file, "not a JSON object");
  Recorded recorded;
  try {
    if (record.at("sardonyx_record") != 1) return unreadable(file, "not a record of version 1");
    recorded.model = record.at("model").at("path").get<std::string>();
    recorded.sha256 = record.at("model").at("sha256").get<std::string>();
    recorded.strict = record.at("model").at("numerics") == "strict";
    for (const json& input : record.at("inputs")) {
      const auto bytes = from_base64(input.at("base64").get<std::string>());
      if (!bytes) return unreadable(file, "an input is not base64");
      const Type type = type_of_datatype(input.at("datatype").get<std::string>());
      if (type == Type::undefined) return unreadable(file, "an input's datatype is not known");
      auto tensor = tensor_of_bytes(type, input.at("shape").get<Dims>(), *bytes,
                                    input.at("name").get<std::string>(), false);
      if (!tensor) return tensor.failure();
      recorded.inputs.push_back({input.at("name").get<std::string>(), *std::move(tensor)});
    }
    for (const json& output : record.at("outputs")) {
      recorded.outputs.emplace_back(
          output.at("name").get<std::string>(),
          line_of(output.at("datatype").get<std::string>(), output.at("shape").get<Dims>(),
                  output.at("digest").get<std::string>()));
    }
  } catch (const json::exception& error) {
    return unreadable(file, error.what());
  }
  return recorded;
}

}  // namespace

void record(const std::string& folder, const Job& job, const InferResult& result) {
  if (!asks(job.request) || !job.request.sequence.empty()) return;
  static std::atomic<uint64_t> number{0};
  const ServedModel& model = *job.model;
  json inputs = json::array(), outputs = json::array();
  for (const InputTensor& input : job.request.inputs) {
    json one = tensor_json(input.name, input.tensor);
    const Tensor& tensor = input.tensor;
    one["base64"] = tensor.type() == Type::string
                        ? base64(string_bytes(tensor))
                        : base64({static_cast<const char*>(tensor.data()),
                                  packed_bytes(tensor.type(), tensor.count())});
    inputs.push_back(std::move(one));
  }
  for (const OutputTensor& output : result.outputs) {
    json one = tensor_json(output.name, output.tensor);
    one["digest"] = output.tensor.digest();
    outputs.push_back(std::move(one));
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  std::error_code error;
  const json all = {{"sardonyx_record", 1},
                    {"time_ms", ms},
                    {"id", result.id},
                    {"model",
                     {{"name", model.name()},
                      {"version", model.version()},
                      {"path", std::filesystem::absolute(model.path(), error).string()},
                      {"sha256", file_sha256(model.path())},
                      {"numerics", model.settings().strict ? "strict" : "standard"}}},
                    {"inputs", inputs},
                    {"outputs", outputs}};
  std::filesystem::create_directories(folder, error);
  const std::string name = folder + "/" + model.name() + "-" + std::to_string(ms) + "-" +
                           std::to_string(number++) + ".json";
  {
    std::ofstream file(name + ".part", std::ios::binary);
    file << all.dump(1, ' ', false, json::error_handler_t::replace) << "\n";
    if (!file.good()) log(Level::error, "request not recorded", {{"file", name}});
  }
  std::filesystem::rename(name + ".part", name, error);
}

Outcome<bool> verify_record(const std::string& file, const std::string& model) {
  const auto recorded = read_record(file);
  if (!recorded) return recorded.failure();
  const std::string path = model.empty() ? recorded->model : model;
  const std::string found = file_sha256(path);
  if (found.empty()) return unreadable(path, "the model cannot be read");
  const bool same_model = found == recorded->sha256;
  std::printf("model %s %s\n", path.c_str(),
              same_model ? "is the recorded one" : "is ANOTHER FILE than the recorded one");
  auto loaded = Model::try_load(path);
  if (!loaded) return failure_of(loaded.error());
  Options options;
  options.strict = recorded->strict;
  auto session = loaded->try_compile(options);
  if (!session) return failure_of(session.error());
  std::vector<NamedValue> inputs;
  for (const InputTensor& input : recorded->inputs) inputs.emplace_back(input.name, input.tensor);
  RunOptions run;
  for (const auto& [name, line] : recorded->outputs) run.outputs.push_back(name);
  auto outputs = session->try_run(inputs, run);
  if (!outputs) return failure_of(outputs.error());
  bool all = same_model;
  for (const auto& [name, line] : recorded->outputs) {
    const Tensor& tensor = (*outputs)[name];
    const std::string now = line_of(datatype_of(tensor.type()), tensor.dims(), tensor.digest());
    all = all && now == line;
    std::printf("%s %s %s\n", name.c_str(), now.c_str(),
                now == line ? "as recorded" : ("but recorded was " + line).c_str());
  }
  return all;
}

}  // namespace sardonyx::serve
