// sardonyx test: runs ONNX backend-test folders (model.onnx, test_data_set_*/{input,output}_*.pb).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "api/digest.h"
#include "base/sha256.h"
#include "command.h"
#include "facts.h"
#include "infer/inline.h"
#include "json.h"
#include "judge.h"
#include "listing.h"
#include "model/names.h"
#include "model/tensor.h"
#include "ops/list.h"
#include "opset_flag.h"
#include "order.h"
#include "progress.h"
#include "recorder.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

struct TestFlags {
  std::vector<std::string> folders;
  EngineFlags engine;
  std::string expected, order, certificates;
  std::vector<std::string> opsets;
  bool guard = false;
  bool quiet = false, list_missing = false, facts = false, digest = false;
  bool inline_operators = false, json = false;
};

std::vector<fs::path> numbered(const fs::path& folder, const std::string& stem,
                               const std::string& ending) {
  std::vector<fs::path> paths;
  for (size_t i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}{}", stem, i, ending);
    if (!fs::exists(path)) return paths;
    paths.push_back(path);
  }
}

Result<Value> read_value(const fs::path& path, const std::optional<model::Type>& type) {
  if (!type) return fail("SDX-C0010", "{} has no declared type", path.filename().string());
  SDX_ASSIGN(Value value, model::read_value_file(path.string(), *type));
  // The suite of ONNX 1.12 stores bfloat16 as its bits in uint16.
  const model::TensorType* tensor = type->tensor();
  if (tensor != nullptr && tensor->dtype() == DType::bf16 && value.is_tensor() &&
      value.tensor().type() == DType::u16) {
    value = value.tensor().part(0, DType::bf16, value.tensor().dims());
  }
  return value;
}

// Files are numbered over the inputs that have no initializer; over all of them if there are more
// files.
Result<Named> read_inputs(const model::Model& model, const fs::path& folder) {
  Named given;
  const auto files = numbered(folder, "input", ".pb");
  std::vector<const model::ValueInfo*> declared;
  for (const bool all : {false, true}) {
    if (all && declared.size() >= files.size()) break;
    declared.clear();
    for (const model::ValueInfo& input : model.graph->input) {
      const auto& initializers = model.graph->initializer;
      if (all || std::none_of(initializers.begin(), initializers.end(),
                              [&](const auto& init) { return init.name == input.name; })) {
        declared.push_back(&input);
      }
    }
  }
  for (size_t i = 0; i < files.size() && i < declared.size(); ++i) {
    SDX_ASSIGN(given[declared[i]->name], read_value(files[i], declared[i]->type));
  }
  return given;
}

Status run_data_set(const model::Model& model, const plan::Compiled& compiled,
                    run::Session& session, const fs::path& folder, const Named& given,
                    const Tolerance& tolerance, Sha256* digests, const run::RunOptions& how) {
  std::vector<Value> arguments;
  for (const typed::Outlet source : compiled.graph().inputs()) {
    const std::string& name = compiled.graph().node(source.node).use.name;
    SDX_ASSIGN(Value argument, input_named(given, name));
    arguments.push_back(std::move(argument));
  }
  SDX_ASSIGN(const std::vector<Value> results, session.run(arguments, how));
  for (size_t i = 0; digests != nullptr && i < results.size(); ++i) {
    for (const DigestLine& line : digest(model.graph->output[i].name, results[i])) {
      const std::string text = line.text() + '\n';
      digests->add(text.data(), text.size());
    }
  }
  const auto outputs = numbered(folder, "output", ".pb");
  if (outputs.size() != results.size()) {
    return fail("SDX-C0012", "{} outputs, expected {}", results.size(), outputs.size());
  }
  // What typing promised of the outputs holds.
  for (size_t i = 0; i < results.size(); ++i) {
    const typed::Output& output = compiled.graph().outputs()[i];
    const Fact& promised = compiled.graph().fact(output.outlet);
    if (!admits(promised, results[i])) {
      return fail("SDX-C0018", "output {} \"{}\" is {}, but was typed as {}", i, output.name,
                  fact_of(results[i]).text(), promised.text());
    }
  }
  const bool drawn = draws(model);
  for (size_t i = 0; i < outputs.size(); ++i) {
    SDX_ASSIGN(const Value expected, read_value(outputs[i], model.graph->output[i].type));
    std::string why = difference(results[i], expected, tolerance);
    if (!why.empty() && drawn) why = difference_of_draws(results[i], expected);
    if (!why.empty())
      return fail("SDX-C0013", "output {} \"{}\" {}", i, model.graph->output[i].name, why);
  }
  return ok();
}

// With fewer nodes there is no choice worth the name.
bool in_orders(const model::Model& model) { return model.graph->node.size() > 2; }

// Compiles once for all data sets. A declared shape that the first set's file contradicts gives way
// to the file's, as in the official runner, which does not look at declared shapes.
Status run_test(const fs::path& folder, std::shared_ptr<const model::Model> model,
                const CompileOptions& options, bool facts, Sha256* digests,
                const RandomOrders& orders, const run::RunOptions& how) {
  Tolerance tolerance;
  if (folder.filename().string().find("densenet121") != std::string::npos)
    tolerance.relative = 2e-3;  // the official bound
  if (!model->graph) return check::checked(model).error();
  const auto sets = numbered(folder, "test_data_set", "");
  if (sets.empty()) return fail("SDX-C0014", "no test_data_set_0");
  std::shared_ptr<const plan::Compiled> compiled;
  std::optional<run::Session> session;
  for (const fs::path& set : sets) {
    const auto once = [&]() -> Status {
      SDX_ASSIGN(const Named inputs, read_inputs(*model, set));
      if (!compiled) {
        model = with_shapes_of(model, inputs, false);
        SDX_ASSIGN(compiled, compile(model, options));
        session.emplace(compiled);
      }
      SDX_TRY(run_data_set(*model, *compiled, *session, set, inputs, tolerance, digests, how));
      if (orders.count > 0 && in_orders(*model))
        SDX_TRY(orders_agree(model, inputs, options, orders, how));
      return facts ? facts_hold(model, inputs) : ok();
    };
    if (Status status = once(); !status)
      return std::move(status).error().in(set.filename().string());
  }
  return ok();
}

// What became of the models that were written in another version of an operator set.
struct InVersions {
  struct Count {
    size_t equal = 0, refused = 0, other_bits = 0;
  };
  std::vector<std::pair<opsets::Wanted, Count>> versions;

  Json json() const {
    Json list = Json::array();
    for (const auto& [wanted, count] : versions) {
      list.push_back({{"domain", model::shown(wanted.domain)},
                      {"version", wanted.version},
                      {"equal", count.equal},
                      {"refused", count.refused},
                      {"other_bits", count.other_bits}});
    }
    return list;
  }
  void print() const {
    for (const auto& [wanted, count] : versions) {
      std::printf(
          "written in %s %lld: %zu with equal digests, %zu refused at a node, %zu refused because "
          "ONNX's function for a node gives other bits\n",
          std::string(model::shown(wanted.domain)).c_str(), static_cast<long long>(wanted.version),
          count.equal, count.refused, count.other_bits);
    }
  }
};

// The model gives the same digests in each version, or the node that stands in the way is named.
Status run_in_versions(const fs::path& folder, const std::shared_ptr<const model::Model>& model,
                       const CompileOptions& options, InVersions& all) {
  const run::RunOptions how;
  const RandomOrders orders{0, 0};
  Sha256 sum;
  SDX_TRY(run_test(folder, model, options, false, &sum, orders, how));
  const std::string before = sum.hex();
  const auto imports = model::opsets_of(model->opset_import);
  for (auto& [wanted, count] : all.versions) {
    if (!imports.empty() && !imports.contains(wanted.domain)) continue;  // it uses none of it
    Result<opsets::Written> made = opsets::in_opset(*model, wanted);
    if (!made) {
      if (made.error().where.empty() && made.error().what.find("node ") == std::string::npos)
        return fail("SDX-C0176", "the refusal names no node: {}", made.error().what);
      ++count.refused;
      continue;
    }
    Sha256 after;
    const auto written = std::make_shared<const model::Model>(std::move(made->model));
    Status status = run_test(folder, written, options, false, &after, orders, how);
    const bool same = status && after.hex() == before;
    if (!same && made->expanded.empty()) {
      if (!status) return std::move(status).error().in(fmt::format("version {}", wanted.version));
      return fail("SDX-C0176", "other digests when written in {} {}", model::shown(wanted.domain),
                  wanted.version);
    }
    ++(same ? count.equal : count.other_bits);
  }
  return ok();
}

// A folder with a model is one test; any other is searched.
void collect(const fs::path& folder, std::vector<fs::path>& tests) {
  std::error_code ignored;
  if (fs::exists(folder / "model.onnx", ignored)) {
    tests.push_back(folder);
    return;
  }
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_directory(ignored)) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) collect(entry, tests);
}

// "SDX-C0013: output 0 "y" element 3 is 1, expected 2 (test_data_set_0)": one line, cut where it
// becomes a list.
std::string short_text(const Error& error) {
  constexpr size_t kMost = 160;
  std::string what = error.what;
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (what.size() > kMost) what = what.substr(0, kMost - 3) + "...";
  std::string where = error.where.empty() ? "" : error.where.front();
  if (const size_t graph = where.find(": graph"); graph != std::string::npos)
    where = where.substr(graph + 2);
  if (where.size() > 80) where = where.substr(0, 77) + "...";
  return fmt::format("{}: {}{}", error.code, what,
                     where.empty() ? "" : fmt::format(" ({})", where));
}

// Operators that a model uses and this build lacks, each once.
std::set<std::string> missing_operators(const model::Model& model) {
  std::set<std::string> missing;
  each_node(model, [&](const model::Node& node) {
    const auto same = [&](const model::Function& f) {
      return f.name == node.op_type && f.domain == node.domain;
    };
    if (std::any_of(model.functions.begin(), model.functions.end(), same)) return;
    if (find_op(node.domain, node.op_type) == nullptr) {
      missing.insert(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
    }
  });
  return missing;
}

// Lines "test_name reason"; '#' starts a comment.
Result<std::map<std::string, std::string>> read_expected(const std::string& path) {
  std::map<std::string, std::string> expected;
  if (path.empty()) return expected;
  std::ifstream file(path);
  if (!file) return fail("SDX-C0015", "cannot read {}", path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find_first_of(" \t");
    if (space == std::string::npos)
      return fail("SDX-C0016", "{}: \"{}\" gives no reason", path, line);
    expected.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return expected;
}

// The model with operators that are functions replaced by their bodies; null if it has none.
Result<std::shared_ptr<const model::Model>> expanded(const model::Model& model) {
  SDX_ASSIGN(const model::Model plain, infer::inline_functions(model));
  SDX_ASSIGN(model::Model made, infer::inline_functions(model, {.operators = true}));
  if (model::write(made) == model::write(plain)) return std::shared_ptr<const model::Model>();
  return std::make_shared<const model::Model>(std::move(made));
}

int test(const TestFlags& flags) {
  const Result<CompileOptions> options = flags.engine.options();
  if (!options) return report(options.error());
  Result<std::map<std::string, std::string>> expected = read_expected(flags.expected);
  if (!expected) return report(expected.error());
  std::vector<fs::path> tests;
  for (const std::string& folder : flags.folders) collect(folder, tests);
  if (tests.empty())
    return report(fail("SDX-C0017", "no tests there: a test is a folder with a model.onnx"));
  InVersions versions;
  for (const std::string& text : flags.opsets) {
    Result<opsets::Wanted> wanted = read_opset(text);
    if (!wanted) return report(wanted.error());
    versions.versions.emplace_back(*std::move(wanted), InVersions::Count{});
  }
  RandomOrders orders{0, 0};
  if (!flags.order.empty()) {
    const Result<RandomOrders> read = read_orders(flags.order);
    if (!read) return report(read.error());
    orders = *read;
  }
  run::RunOptions how;
  how.guard = flags.guard;
  std::optional<Recorder> recorder;
  if (!flags.certificates.empty()) {
    Result<Recorder> made = Recorder::create(flags.certificates);
    if (!made) return report(made.error());
    how.observer = &recorder.emplace(*std::move(made));
  }
  size_t shuffled = 0;
  Progress progress("testing", "tests");
  Json failures = Json::array();
  size_t passed = 0, failed = 0, expected_failures = 0, unexpected_passes = 0;
  std::map<std::string, size_t> missing;
  Sha256 digests;
  for (size_t i = 0; i < tests.size(); ++i) {
    const std::string name = tests[i].filename().string();
    progress.at(i, tests.size(), name);
    bool skipped = false;
    const auto once = [&]() -> Status {
      SDX_ASSIGN(auto model, model::read_file((tests[i] / "model.onnx").string()));
      if (flags.inline_operators) {
        SDX_ASSIGN(model, expanded(*model));
        skipped = model == nullptr;
        if (skipped) return ok();
      }
      for (const std::string& op : missing_operators(*model)) ++missing[op];
      shuffled += model->graph && in_orders(*model) ? 1 : 0;
      if (recorder) recorder->model(name);
      if (!flags.opsets.empty()) return run_in_versions(tests[i], model, *options, versions);
      return run_test(tests[i], model, *options, flags.facts, flags.digest ? &digests : nullptr,
                      orders, how);
    };
    const Status status = once();
    if (skipped) continue;
    ++(status ? passed : failed);
    const auto listed = expected->find(name);
    if (!status && listed != expected->end()) {
      ++expected_failures;
      continue;
    }
    if (status && listed == expected->end()) continue;
    unexpected_passes += status ? 1 : 0;
    if (flags.json) {
      failures.push_back({{"test", name},
                          {"code", status ? "" : status.error().code},
                          {"message", status ? "listed as failing: " + listed->second
                                             : short_text(status.error())}});
    }
    if (flags.quiet || flags.json) continue;
    progress.clear();
    if (status) {
      std::printf("PASS %s: listed as failing (%s)\n", name.c_str(), listed->second.c_str());
    } else {
      std::printf("FAIL %s: %s\n", name.c_str(), short_text(status.error()).c_str());
    }
  }
  progress.clear();
  const bool fine = failed == expected_failures && unexpected_passes == 0;
  if (flags.json) {
    Json json = {{"passed", passed},
                 {"failed", failed},
                 {"expected_failures", expected_failures},
                 {"unexpected", std::move(failures)},
                 {"digest", flags.digest ? Json(digests.hex()) : Json()},
                 {"opsets", versions.json()},
                 {"missing_operators", missing}};
    print_json(json);
    return fine ? kOk : kWrong;
  }
  if (flags.list_missing) {
    std::vector<std::pair<std::string, size_t>> sorted(missing.begin(), missing.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [name, count] : sorted)
      std::printf("missing %-40s %zu tests\n", name.c_str(), count);
  }
  if (!flags.expected.empty()) {
    std::printf("%zu failures are listed in %s, %zu listed tests pass\n", expected_failures,
                flags.expected.c_str(), unexpected_passes);
  }
  if (flags.digest) std::printf("%s\n", digests.hex().c_str());
  if (orders.count > 0) {
    std::printf("%zu models of more than two nodes ran in %zu random orders each\n", shuffled,
                orders.count);
  }
  versions.print();
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return fine ? kOk : kWrong;
}

}  // namespace

Command test_command(CommandLine program) {
  CommandLine app = program.command("test", "run ONNX backend-test folders");
  auto flags = std::make_shared<TestFlags>();
  app.option("folder", flags->folders, "a test, or a folder of tests").required().existing_folder();
  app.flag("--json", flags->json, "the closing lines, and what failed, as one JSON object");
  app.flag("--quiet", flags->quiet, "only the closing lines");
  app.flag("--list-missing", flags->list_missing,
           "also the operators that tests need and this build lacks");
  app.option("--expect-failures", flags->expected,
             "a file of lines \"test_name reason\": exactly these may fail, and must")
      .existing_file();
  app.option("--order", flags->order,
             "random:SEED,COUNT: also run models of more than two nodes in COUNT random valid "
             "orders; the outputs must be equal byte by byte");
  app.flag("--inline-ops", flags->inline_operators,
           "with operators that ONNX defines as functions replaced by their bodies; only "
           "models that have some");
  app.option(
         "--opset", flags->opsets,
         "also written in this version of ai.onnx, or [DOMAIN=]N: the digests must be equal, or "
         "the node named that cannot be; may be given several times")
      .take_all();
  app.flag("--guard", flags->guard,
           "hold every kernel to its contract: nothing but its outputs and scratch memory changes, "
           "and they depend on its inputs alone; slow");
  app.option("--certificates", flags->certificates,
             "write the certificates of all plans that run to this file, one after another");
  app.flag("--facts", flags->facts,
           "also run node by node: what was inferred of every wire must hold");
  app.flag("--digest", flags->digest, "one SHA-256 of the digests of all outputs of all tests");
  flags->engine.add_to(app);
  return {app, [flags] { return test(*flags); }};
}

}  // namespace sdx::cli
