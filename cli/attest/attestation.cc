#include "attest/attestation.h"

#include <fstream>

#include "api/digest.h"
#include "base/endian.h"
#include "base/sha256.h"
#include "base/system.h"
#include "bounds.h"
#include "bytes/file.h"
#include "kernel/cpus.h"
#include "load.h"
#include "model/tensor.h"
#include "model/walk.h"
#include "run/session.h"
#include "tools.h"

namespace sdx::cli::attest {
namespace {

constexpr std::string_view kKind = "sardonyx_attestation";
constexpr size_t kMostBytes = size_t{64} << 20;  // of an attestation

Json json_of(const std::vector<Line>& lines) {
  Json list = Json::array();
  for (const Line& line : lines)
    list.push_back(
        {{"name", line.name}, {"type", line.type}, {"shape", line.shape}, {"sha256", line.sha256}});
  return list;
}

std::vector<Line> lines_of(const Json& list) {
  std::vector<Line> lines;
  for (const Json& line : list)
    lines.push_back({line.at("name"), line.at("type"), line.at("shape"), line.at("sha256")});
  return lines;
}

void add_lines(const std::string& name, const Value& value, std::vector<Line>& to) {
  for (const DigestLine& line : digest(name, value))
    to.push_back({line.name, line.type, line.shape, line.sha256});
}

// A name for people: what the processor calls itself, or its kind.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t at = line.find(':');
    if (at != std::string::npos && at + 2 <= line.size()) return line.substr(at + 2);
  }
  return system::machine();
}

Result<std::string> file_sha256(const std::string& path) {
  SDX_ASSIGN(const auto file, MappedFile::open(path, SIZE_MAX));
  return sha256_of(file->bytes());
}

// Of every tensor whose elements lie in another file: name, size and bytes.
Result<std::string> weights_sha256(const model::Model& model) {
  Sha256 sha;
  bool any = false;
  SDX_TRY(model::each_tensor(model, [&](const model::TensorData& tensor) -> Status {
    if (tensor.data_location != model::DataLocation::external) return ok();
    SDX_ASSIGN(const model::Payload data, model::data_of(tensor));
    std::string head;
    append_little(uint64_t(tensor.name.size()), head);
    head += tensor.name;
    append_little(uint64_t(data.size()), head);
    sha.add(head.data(), head.size());
    sha.add(data.bytes);
    any = true;
    return ok();
  }));
  return any ? sha.hex() : std::string();
}

}  // namespace

std::string seal_of(Json object) {
  object.erase("sha256");
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return sha256_of(std::as_bytes(std::span(text)));
}

Json Attestation::json() const {
  Json all = {{kKind, 1},
              {"model", {{"path", model}, {"sha256", model_sha256}, {"weights", weights_sha256}}},
              {"numerics", numerics},
              {"accept", accept},
              {"files", files},
              {"sizes", sizes},
              {"seed", seed ? Json(*seed) : Json(nullptr)},
              {"inputs", json_of(inputs)},
              {"outputs", json_of(outputs)},
              {"build", build},
              {"machine", machine}};
  all["sha256"] = seal_of(all);
  return all;
}

Result<Attestation> read(const std::string& path) {
  SDX_ASSIGN(const auto file, MappedFile::open(path, kMostBytes));
  const auto bytes = file->bytes();
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const Json all = Json::parse(text, text + bytes.size(), nullptr, false);
  if (!all.is_object() || !all.contains(kKind))
    return fail("SDX-C0190", "not an attestation: no JSON object with \"{}\"", kKind).in(path);
  Attestation read;
  try {
    if (all.at(kKind) != 1)
      return fail("SDX-C0191", "an attestation of version {}; this program knows version 1",
                  all.at(kKind).dump())
          .in(path);
    if (all.at("sha256") != seal_of(all))
      return fail("SDX-C0192",
                  "the seal is broken: \"sha256\" is {} and should be {}; the file was changed",
                  all.at("sha256").dump(), seal_of(all))
          .in(path);
    const Json& model = all.at("model");
    read.model = model.at("path");
    read.model_sha256 = model.at("sha256");
    read.weights_sha256 = model.at("weights");
    read.numerics = all.at("numerics");
    read.accept = all.at("accept");
    read.files = all.at("files").get<std::vector<std::string>>();
    read.sizes = all.at("sizes").get<std::vector<std::string>>();
    if (!all.at("seed").is_null()) read.seed = all.at("seed").get<uint64_t>();
    read.inputs = lines_of(all.at("inputs"));
    read.outputs = lines_of(all.at("outputs"));
    read.build = all.at("build");
    read.machine = all.at("machine");
  } catch (const Json::exception& error) {
    return fail("SDX-C0193", "the attestation is not of the expected form: {}", error.what())
        .in(path);
  }
  const bool known = (read.numerics == "standard" || read.numerics == "strict") &&
                     (read.accept == "common" || read.accept == "strict");
  if (!known)
    return fail("SDX-C0194", "numerics \"{}\" or accept \"{}\" is not known", read.numerics,
                read.accept)
        .in(path);
  return read;
}

Status write(const Attestation& attestation, const std::string& path) {
  const std::string text =
      attestation.json().dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

Result<Attestation> attest(Attestation asked, EngineFlags engine) {
  engine.numerics = asked.numerics;
  engine.accept = asked.accept;
  InputFlags given;
  given.files = asked.files;
  given.sizes = asked.sizes;
  given.seed = asked.seed;
  SDX_ASSIGN(asked.model_sha256, file_sha256(asked.model));
  SDX_ASSIGN(const Loaded loaded, load(asked.model, engine, given));
  SDX_ASSIGN(asked.weights_sha256, weights_sha256(*loaded.model));
  const typed::Graph& graph = loaded.compiled->graph();
  asked.inputs.clear();
  asked.outputs.clear();
  for (size_t i = 0; i < loaded.inputs.size(); ++i)
    add_lines(graph.node(graph.inputs()[i].node).use.name, loaded.inputs[i], asked.inputs);
  run::Session session(loaded.compiled);
  run::RunOptions options;
  options.deadline = deadline();
  Result<std::vector<Value>> made = session.run(loaded.inputs, options);
  if (!made) return asking_for_sizes(std::move(made).error().in(asked.model), loaded.assumed);
  for (size_t i = 0; i < made->size(); ++i)
    add_lines(loaded.model->graph->output[i].name, (*made)[i], asked.outputs);
  asked.build = {{"version", release()}, {"compiler", compiler()}};
  const int threads = loaded.options.threads;
  asked.machine = {{"isa", isa_name(loaded.options.isa)},
                   {"threads", threads > 0 ? threads : allowed_cpus()},
                   {"optimize", engine.optimize},
                   {"processor", processor()},
                   {"system", system::name()}};
  return asked;
}

}  // namespace sdx::cli::attest
