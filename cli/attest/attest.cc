#include "attest/attest.h"

#include <cstdio>
#include <filesystem>

#include "attest/attestation.h"
#include "attest/records.h"
#include "base/fitting.h"
#include "base/printable.h"
#include "bytes/file.h"

namespace sdx::cli {
namespace {

using attest::Attestation;
using attest::Line;

VerifyRecord& record_verifier() {
  static VerifyRecord verify = nullptr;
  return verify;
}

struct Attest {
  std::string model, out;
  EngineFlags engine;
  InputFlags inputs;
};

Status run(const Attest& flags) {
  Attestation asked;
  asked.model = flags.model;
  asked.numerics = flags.engine.numerics;
  asked.accept = flags.engine.accept;
  asked.files = flags.inputs.files;
  asked.sizes = flags.inputs.sizes;
  asked.seed = flags.inputs.seed;
  if (flags.model == "-")
    return fail("SDX-C0195", "an attestation names a file; standard input has no name");
  SDX_ASSIGN(const Attestation made, attest::attest(std::move(asked), flags.engine));
  if (flags.out.empty()) {
    print_json(made.json());
    return ok();
  }
  SDX_TRY(attest::write(made, flags.out));
  for (const Line& line : made.outputs) std::printf("%s\n", printable(line.text()).c_str());
  return ok();
}

struct Verify {
  std::string file, model;
  std::vector<std::string> inputs;
  EngineFlags engine;
  bool json = false;
};

// A recorded path that leads nowhere from here may lead somewhere beside the attestation.
std::string found_beside(const std::string& file, const std::string& path) {
  std::error_code problem;
  if (path.starts_with('/') || std::filesystem::exists(path, problem)) return path;
  const std::string beside = folder_of(file) + "/" + path;
  return std::filesystem::exists(beside, problem) ? beside : path;
}

Attestation to_repeat(const Verify& flags, const Attestation& attested) {
  Attestation again = attested;
  again.model = flags.model.empty() ? found_beside(flags.file, attested.model) : flags.model;
  if (!flags.inputs.empty()) again.files = flags.inputs;
  for (std::string& text : again.files) {
    const size_t at = text.rfind('=');
    const size_t path = at == std::string::npos ? 0 : at + 1;
    if (flags.inputs.empty())
      text = text.substr(0, path) + found_beside(flags.file, text.substr(path));
  }
  return again;
}

// Prints how each line compares; answers whether all are the same.
bool compare(const char* what, const std::vector<Line>& attested, const std::vector<Line>& found,
             Json& json) {
  bool same = attested.size() == found.size();
  for (size_t i = 0; i < std::max(attested.size(), found.size()); ++i) {
    const bool both = i < attested.size() && i < found.size();
    const bool equal = both && attested[i] == found[i];
    const std::string was = i < attested.size() ? attested[i].text() : "nothing";
    const std::string is = i < found.size() ? found[i].text() : "nothing";
    same = same && equal;
    json.push_back({{"attested", was}, {"found", is}, {"same", equal}});
    if (equal) {
      json.back()["text"] = fmt::format("{} {} as attested", what, is);
    } else {
      json.back()["text"] = fmt::format("{} {} DIFFERS: attested was {}", what, is, was);
    }
  }
  return same;
}

std::string maker(const Attestation& of) {
  const auto text = [](const Json& object, const char* key) {
    const auto at = object.find(key);
    return at == object.end() ? "?" : at->is_string() ? at->get<std::string>() : at->dump();
  };
  return fmt::format("sardonyx {} ({}), {}, threads: {}, {}", text(of.build, "version"),
                     text(of.build, "compiler"), text(of.machine, "isa"),
                     text(of.machine, "threads"), text(of.machine, "processor"));
}

Result<bool> run(const Verify& flags) {
  SDX_ASSIGN(const Attestation attested, attest::read(flags.file));
  SDX_ASSIGN(const Attestation found, attest::attest(to_repeat(flags, attested), flags.engine));
  const bool same_model = found.model_sha256 == attested.model_sha256 &&
                          found.weights_sha256 == attested.weights_sha256;
  Json inputs = Json::array(), outputs = Json::array();
  const bool same_inputs = compare("input", attested.inputs, found.inputs, inputs);
  const bool same_outputs = compare("output", attested.outputs, found.outputs, outputs);
  const bool same = same_model && same_inputs && same_outputs;
  if (flags.json) {
    print_json({{"file", flags.file},
                {"same", same},
                {"model", {{"path", found.model}, {"same", same_model}}},
                {"inputs", inputs},
                {"outputs", outputs},
                {"attested_by", maker(attested)},
                {"verified_by", maker(found)}});
    return same;
  }
  const auto print = [](const std::string& text) { std::printf("%s\n", printable(text).c_str()); };
  print(fmt::format("model {} {}", found.model,
                    same_model ? "is the attested one" : "is ANOTHER than the attested one"));
  for (const Json* list : {&inputs, &outputs}) {
    for (const Json& line : *list) print(line["text"]);
  }
  print("attested by " + maker(attested));
  print("verified by " + maker(found));
  return same;
}

bool is_record(const std::string& path) {
  const auto file = MappedFile::open(path, fitting(uint64_t{1} << 32));
  if (!file) return false;
  const auto bytes = (*file)->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find("\"sardonyx_record\"") != std::string_view::npos &&
         text.find("\"sardonyx_attestation\"") == std::string_view::npos;
}

int verify(const Verify& flags) {
  if (is_record(flags.file)) {
    if (record_verifier() != nullptr) return record_verifier()(flags.file, flags.model);
    return report(fail("SDX-C0196", "{} is a request that a server recorded; this build has none",
                       flags.file));
  }
  const Result<bool> same = run(flags);
  if (!same) return report(same.error());
  return *same ? kOk : kWrong;
}

}  // namespace

void verify_records_by(VerifyRecord verify) { record_verifier() = verify; }

Command attest_command(CommandLine program) {
  const CommandLine app = program.command(
      "attest", "run a model and write down what it answered, for others to verify");
  auto flags = std::make_shared<Attest>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  flags->inputs.add_to(app);
  app.option("-o,--output", flags->out, "the attestation, a JSON file; without: to stdout");
  flags->engine.add_to(app);
  return {app, [flags] {
            const Status status = run(*flags);
            return status ? kOk : report(status.error());
          }};
}

Command verify_command(CommandLine program) {
  const CommandLine app = program.command(
      "verify", "run what an attestation or a recorded request says again, and compare");
  auto flags = std::make_shared<Verify>();
  app.option("file", flags->file, "what `attest` or `serve --record` wrote").required();
  app.option("--model", flags->model, "the model's file, if it lies elsewhere now");
  app.option("--input", flags->inputs, "NAME=FILE, in place of the attested files").take_all();
  app.flag("--json", flags->json, "print what was compared as one JSON object");
  flags->engine.add_to(app);
  return {app, [flags] { return verify(*flags); }};
}

}  // namespace sdx::cli
