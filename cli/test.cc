// sardonyx test: runs ONNX backend-test folders (model.onnx, test_data_set_*/{input,output}_*.pb).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "command.h"
#include "model/tensor.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

// The official rule, stricter for integers and booleans, which must be equal. Empty: they agree.
std::string difference(const Value& found, const Value& expected, const Tolerance& tolerance) {
  if (found.index() != expected.index()) {
    return fmt::format("is {}, expected {}", fact_of(found).text(), fact_of(expected).text());
  }
  if (found.is_none()) return "";
  if (found.is_sequence()) {
    const Sequence &a = found.sequence(), &b = expected.sequence();
    if (a.size() != b.size())
      return fmt::format("has {} elements, expected {}", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::string why = difference(a[i], b[i], tolerance); !why.empty())
        return fmt::format("element {} {}", i, why);
    }
    return "";
  }
  if (found.is_map()) {
    const Map &a = found.map(), &b = expected.map();
    if (a.size() != b.size()) return fmt::format("has {} entries, expected {}", a.size(), b.size());
    for (const auto& [key, value] : b) {
      const auto at = a.find(key);
      if (at == a.end()) return "lacks a key";
      if (std::string why = difference(at->second, value, tolerance); !why.empty())
        return "entry " + why;
    }
    return "";
  }
  const Tensor &a = found.tensor(), &b = expected.tensor();
  if (a.type() != b.type() || a.dims() != b.dims()) {
    return fmt::format("is {}, expected {}", fact_of(found).text(), fact_of(expected).text());
  }
  const bool complex = is_complex(a.type());
  if (!is_float(a.type()) && !complex) {
    if (a == b) return "";
    return "differs";
  }
  const DType type = !complex ? a.type() : a.type() == DType::c64 ? DType::f32 : DType::f64;
  for (size_t i = 0; i < a.count() * (complex ? 2 : 1); ++i) {
    const double x = get_f64(type, a.raw(), i), y = get_f64(type, b.raw(), i);
    const bool same = std::isnan(y)   ? std::isnan(x)
                      : std::isinf(y) ? x == y
                                      : std::fabs(x - y) <=
                                            tolerance.absolute + tolerance.relative * std::fabs(y);
    if (!same) return fmt::format("element {} is {}, expected {}", i, x, y);
  }
  return "";
}

std::vector<fs::path> numbered(const fs::path& folder, const std::string& stem,
                               const std::string& ending) {
  std::vector<fs::path> paths;
  for (size_t i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}{}", stem, i, ending);
    if (!fs::exists(path)) return paths;
    paths.push_back(path);
  }
}

Status run_data_set(const model::Model& model, const run::Compiled& compiled, run::Session& session,
                    const fs::path& folder, const Tolerance& tolerance) {
  const auto read = [](const fs::path& path,
                       const std::optional<model::Type>& type) -> Result<Value> {
    if (!type) return fail("SDX-C0010", "{} has no declared type", path.string());
    return model::read_value_file(path.string(), *type);
  };
  std::map<std::string, Value> given;
  const auto inputs = numbered(folder, "input", ".pb");
  for (size_t i = 0; i < inputs.size() && i < model.graph->input.size(); ++i) {
    SDX_ASSIGN(given[model.graph->input[i].name], read(inputs[i], model.graph->input[i].type));
  }
  std::vector<Value> arguments;
  for (const typed::Outlet source : compiled.graph().inputs()) {
    const std::string& name = compiled.graph().node(source.node).use.name;
    if (!given.contains(name)) return fail("SDX-C0011", "no file for input \"{}\"", name);
    arguments.push_back(given[name]);
  }
  SDX_ASSIGN(const std::vector<Value> results, session.run(arguments));
  const auto outputs = numbered(folder, "output", ".pb");
  if (outputs.size() != results.size()) {
    return fail("SDX-C0012", "{} outputs, expected {}", results.size(), outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    SDX_ASSIGN(const Value expected, read(outputs[i], model.graph->output[i].type));
    const std::string why = difference(results[i], expected, tolerance);
    if (!why.empty())
      return fail("SDX-C0013", "output {} \"{}\" {}", i, model.graph->output[i].name, why);
  }
  return ok();
}

Status run_test(const fs::path& folder, const CompileOptions& options) {
  SDX_ASSIGN(const auto model, model::read_file((folder / "model.onnx").string()));
  SDX_ASSIGN(const auto compiled, compile(model, options));
  run::Session session(compiled);
  Tolerance tolerance;
  if (folder.filename().string().find("densenet121") != std::string::npos)
    tolerance.relative = 2e-3;  // the official bound
  const auto sets = numbered(folder, "test_data_set", "");
  if (sets.empty()) return fail("SDX-C0014", "no test_data_set_0");
  for (const fs::path& set : sets) {
    if (Status status = run_data_set(*model, *compiled, session, set, tolerance); !status) {
      return std::move(status).error().in(set.filename().string());
    }
  }
  return ok();
}

// A folder with a model is one test; any other is searched.
void collect(const fs::path& folder, std::vector<fs::path>& tests) {
  if (fs::exists(folder / "model.onnx")) {
    tests.push_back(folder);
    return;
  }
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) collect(entry, tests);
}

}  // namespace

Command test_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("test", "run ONNX backend-test folders");
  struct Flags {
    std::vector<std::string> folders;
    EngineFlags engine;
    bool quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("folder", flags->folders, "a test, or a folder of tests")
      ->required()
      ->check(CLI::ExistingDirectory);
  app->add_flag("--quiet", flags->quiet, "only the closing line");
  flags->engine.add_to(*app);
  return {app, [flags] {
            Result<CompileOptions> options = flags->engine.options();
            if (!options) return report(options.error());
            std::vector<fs::path> tests;
            for (const std::string& folder : flags->folders) collect(folder, tests);
            size_t passed = 0, failed = 0;
            for (const fs::path& test : tests) {
              const Status status = run_test(test, *options);
              ++(status ? passed : failed);
              if (!status && !flags->quiet) {
                std::string text = status.error().text();
                std::replace(text.begin(), text.end(), '\n', ' ');
                std::printf("FAIL %s: %s\n", test.filename().c_str(), text.c_str());
              }
            }
            std::printf("%zu passed, %zu failed\n", passed, failed);
            return failed == 0 ? kOk : kWrong;
          }};
}

}  // namespace sdx::cli
