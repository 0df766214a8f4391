// sardonyx fix: a model that keeps a profile, from one that nearly does, with the proof that no
// answer changed.
#include "fix.h"

#include <cstdio>
#include <filesystem>
#include <set>

#include "base/printable.h"
#include "check/check.h"
#include "check/fix.h"
#include "inputs.h"
#include "json.h"
#include "model/fields.h"
#include "model/tensor.h"
#include "same_answers.h"
#include "write_model.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

struct FixFlags {
  std::string in, out, profile = "sonnx";
  InputFlags inputs;
  LimitFlags limits;
  bool rename = false, verbose = false, json = false;
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

check::Profile profile_named(const std::string& name) {
  return name == "onnx"         ? check::Profile::onnx
         : name == "sonnx-full" ? check::Profile::sonnx_full
                                : check::Profile::sonnx;
}

void say(const FixFlags& flags, const check::Fixed& fixed, const Answers& answers,
         const check::Report& report) {
  if (flags.json) {
    print_json({{"model", flags.in},
                {"written", flags.out},
                {"profile", flags.profile},
                {"repairs", fixed.journal},
                {"digests", answers.after},
                {"valid", report.valid()},
                {"errors", report.count(check::Severity::error)}});
    return;
  }
  if (flags.verbose) {
    for (const std::string& line : fixed.journal)
      std::printf("%s\n", printable(line, true).c_str());
    for (size_t i = 0; i < answers.after.size(); ++i)
      std::printf("output %zu%s  equal\n", i, printable(answers.after[i]).c_str());
  }
  std::printf("%s: %zu repairs, equal digests, %s under %s\n", flags.out.c_str(),
              fixed.journal.size(), report.valid() ? "valid" : "not valid", flags.profile.c_str());
  if (!fixed.journal.empty() && !flags.verbose)
    std::fprintf(stderr, "note: --verbose lists the repairs\n");
}

Result<int> fix(const FixFlags& flags) {
  SDX_ASSIGN(const auto before, flags.limits.read(flags.in));
  const check::FixOptions options{.most_nodes = flags.limits.most_nodes(),
                                  .profile = profile_named(flags.profile),
                                  .rename = flags.rename};
  SDX_ASSIGN(check::Fixed fixed, check::fix(*before, options));
  if (options.profile == check::Profile::sonnx_full) SDX_TRY(declare_types(fixed.model));
  check::Options rules;
  rules.profile = options.profile;
  const check::Report report = check::check(fixed.model, rules);

  const auto after = std::make_shared<const model::Model>(fixed.model);
  SDX_ASSIGN(const Answers answers, answers_of(before, after, flags.inputs, flags.limits));
  if (!answers.equal())
    return fail("SDX-C0080", "the repaired model gives other answers; nothing is written");

  std::error_code ignored;
  const bool moved = fs::weakly_canonical(fs::path(flags.in).parent_path(), ignored) !=
                     fs::weakly_canonical(fs::path(flags.out).parent_path(), ignored);
  if (moved && has_external_data(fixed.model)) SDX_TRY(model::embed_external(fixed.model));
  SDX_TRY(model::write_file(fixed.model, flags.out));
  for (const check::Diagnostic& d : report.diagnostics) {
    if (d.severity == check::Severity::error)
      std::fprintf(stderr, "%s\n", d.text(flags.out).c_str());
  }
  if (!report.valid() && !flags.rename)
    std::fprintf(stderr, "note: inputs and outputs keep their names; --rename gives them others\n");
  say(flags, fixed, answers, report);
  return report.valid() ? kOk : kWrong;
}

}  // namespace

Command fix_command(CommandLine program) {
  CommandLine app = program.command(
      "fix", "repair what a profile asks for without changing an answer, and prove it");
  auto flags = std::make_shared<FixFlags>();
  app.option("in", flags->in, "an .onnx file").required();
  app.option("out", flags->out, "the file to write").required();
  app.option("--profile", flags->profile, "the rules to keep")
      .one_of({"onnx", "sonnx", "sonnx-full"})
      .show_default();
  app.flag("--rename", flags->rename, "the model's inputs and outputs may get other names");
  app.flag("--verbose", flags->verbose, "list every repair and every output's digest");
  app.flag("--json", flags->json, "what was done as one JSON object");
  flags->inputs.add_to(app);
  flags->limits.add_to(app);
  return {app, [flags] {
            const Result<int> code = fix(*flags);
            return code ? *code : report(code.error());
          }};
}

}  // namespace sdx::cli
