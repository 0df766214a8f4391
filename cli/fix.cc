// sardonyx fix: a model that keeps a profile, from one that nearly does, with the proof that no
// answer changed.
#include "fix.h"

#include <cstdio>
#include <filesystem>
#include <set>

#include "api/digest.h"
#include "base/printable.h"
#include "bounds.h"
#include "check/check.h"
#include "check/fix.h"
#include "inputs.h"
#include "model/tensor.h"
#include "model/walk.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string in, out, profile = "sonnx";
  InputFlags inputs;
  LimitFlags limits;
};

// The types and shapes of values between nodes, where the model states none.
Status declare_types(model::Model& model) {
  SDX_ASSIGN(const infer::Inferred known, inferred(std::make_shared<const model::Model>(model)));
  const typed::Graph& graph = known.graph();
  const infer::Wires& wires = known.wires();
  model::Graph& main = *model.graph;
  std::set<std::string_view> declared;
  for (const auto* list : {&main.input, &main.output, &main.value_info}) {
    for (const model::ValueInfo& info : *list) declared.insert(info.name);
  }
  std::vector<model::ValueInfo> added;
  for (const model::Node& node : main.node) {
    for (const std::string& name : node.output) {
      const auto at = wires.find(name);
      if (name.empty() || declared.contains(name) || at == wires.end()) continue;
      const Fact& fact = graph.fact(at->second);
      if (!fact.is_tensor() || fact.type == DType::undefined) continue;
      model::TensorType tensor;
      set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(fact.type));
      if (fact.shape) {
        model::Shape& shape = tensor.shape.emplace();
        for (const Dim& dim : *fact.shape) {
          model::Dimension& made = shape.dim.emplace_back();
          if (dim.is_const()) made.value = dim.value();
        }
      }
      model::ValueInfo& info = added.emplace_back();
      set(info, &model::ValueInfo::name, name);
      info.type.emplace().value = std::move(tensor);
    }
  }
  std::move(added.begin(), added.end(), std::back_inserter(main.value_info));
  return ok();
}

Result<std::vector<std::string>> digests(const std::shared_ptr<const model::Model>& model,
                                         const std::vector<Value>& inputs,
                                         const CompileOptions& options) {
  SDX_ASSIGN(const auto compiled, compile(model, options));
  run::Session session(compiled);
  run::RunOptions limits;
  limits.deadline = deadline();
  SDX_ASSIGN(const std::vector<Value> outputs, session.run(inputs, limits));
  std::vector<std::string> lines;
  for (const Value& output : outputs) {
    for (const DigestLine& line : digest("", output)) lines.push_back(line.text());
  }
  return lines;
}

bool external(model::Model& model) {
  bool found = false;
  const Status status = model::each_tensor(model, [&](const model::TensorData& tensor) -> Status {
    found = found || tensor.data_location == model::DataLocation::external;
    return ok();
  });
  return status && found;
}

Result<int> fix(const Flags& flags) {
  SDX_ASSIGN(const auto read, flags.limits.read(flags.in));
  SDX_ASSIGN(check::Fixed fixed, check::fix(*read));
  check::Options rules;
  rules.profile =
      flags.profile == "sonnx-full" ? check::Profile::sonnx_full : check::Profile::sonnx;
  if (flags.profile == "onnx") rules.profile = check::Profile::onnx;
  if (flags.profile == "sonnx-full") SDX_TRY(declare_types(fixed.model));
  const check::Report report = check::check(fixed.model, rules);

  // The same inputs for both, drawn for the original's names.
  const auto& before = read;
  const auto after = std::make_shared<const model::Model>(fixed.model);
  CompileOptions options;
  options.most_nodes = flags.limits.most_nodes();
  SDX_ASSIGN(options.set, flags.inputs.bindings(*before));
  SDX_ASSIGN(const typed::Graph graph, type(before, options));
  InputFlags drawn = flags.inputs;
  if (!drawn.seed && drawn.files.empty()) drawn.seed = 1;
  SDX_ASSIGN(const std::vector<Value> inputs, drawn.values(*before, graph));
  SDX_ASSIGN(const auto a, digests(before, inputs, options));
  SDX_ASSIGN(const auto b, digests(after, inputs, options));
  for (const std::string& line : fixed.journal) std::printf("%s\n", printable(line, true).c_str());
  for (size_t i = 0; i < a.size(); ++i) {
    std::printf("output %zu%s%s\n", i, printable(a[i]).c_str(),
                i < b.size() && a[i] == b[i] ? "  equal" : "  DIFFERS");
  }
  if (a != b)
    return fail("SDX-C0080", "the repaired model gives other answers; nothing is written");

  std::error_code ignored;
  const bool moved = fs::weakly_canonical(fs::path(flags.in).parent_path(), ignored) !=
                     fs::weakly_canonical(fs::path(flags.out).parent_path(), ignored);
  if (moved && external(fixed.model)) SDX_TRY(model::embed_external(fixed.model));
  SDX_TRY(model::write_file(fixed.model, flags.out));
  for (const check::Diagnostic& d : report.diagnostics) {
    if (d.severity == check::Severity::error)
      std::fprintf(stderr, "%s\n", d.text(flags.out).c_str());
  }
  std::printf("%s: %zu repairs, equal digests, %s under %s\n", flags.out.c_str(),
              fixed.journal.size(), report.valid() ? "valid" : "not valid", flags.profile.c_str());
  return report.valid() ? kOk : kWrong;
}

}  // namespace

Command fix_command(CommandLine program) {
  CommandLine app = program.command(
      "fix", "repair what a profile asks for without changing an answer, and prove it");
  auto flags = std::make_shared<Flags>();
  app.option("in", flags->in, "an .onnx file").required();
  app.option("out", flags->out, "the file to write").required();
  app.option("--profile", flags->profile, "the rules to keep")
      .one_of({"onnx", "sonnx", "sonnx-full"})
      .show_default();
  flags->inputs.add_to(app);
  flags->limits.add_to(app);
  return {app, [flags] {
            const Result<int> code = fix(*flags);
            return code ? *code : report(code.error());
          }};
}

}  // namespace sdx::cli
