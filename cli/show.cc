// sardonyx show: the model at any stage of its road, as text.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/journal.h"
#include "base/printable.h"
#include "certificate/certificate.h"
#include "certificate/replacements.h"
#include "draw.h"
#include "inputs.h"
#include "listing.h"
#include "progress.h"
#include "streaming.h"
#include "typed/text.h"

namespace sdx::cli {
namespace {

struct ShowFlags {
  std::string model, stage = "model", format = "text", explain, axis;
  bool summary = false, journal = false;
  EngineFlags engine;
  InputFlags inputs;
};

std::string drawn(const typed::Graph& graph, const std::string& format) {
  return format == "dot" ? to_dot(graph) : format == "svg" ? to_svg(graph) : typed::print(graph);
}

Result<std::string> text_inferred(const std::shared_ptr<const model::Model>& model,
                                  const ShowFlags& flags, const CompileOptions& options) {
  SDX_ASSIGN(const infer::Inferred known, sdx::inferred(model, options, true));
  if (!flags.explain.empty()) return known.explain(flags.explain);
  for (const check::Diagnostic& stale : known.stale())
    std::fprintf(stderr, "%s\n", stale.text(flags.model).c_str());
  if (flags.summary) return known.summary().text();
  Types types;
  for (const auto& [name, outlet] : known.wires()) types.emplace(name, known.graph().fact(outlet));
  return listing(*model, types, known.bodies()->graphs);
}

std::string journal_json(const Journal& journal, const std::string& replacements) {
  using Json = nlohmann::ordered_json;
  Json steps = Json::array(), nodes = Json::array();
  for (const TracedStep& step : journal.steps) {
    Json by = Json::array();
    for (const Replacement& r : step.by)
      by.push_back({{"pass", r.pass}, {"rule", r.rule}, {"gone", r.gone}, {"came", r.came}});
    steps.push_back({{"step", steps.size()},
                     {"operation", step.operation},
                     {"name", step.name},
                     {"kernel", step.kernel},
                     {"nodes", step.nodes},
                     {"initializers", step.initializers},
                     {"by", std::move(by)}});
  }
  for (const Fate& fate : journal.nodes) {
    nodes.push_back({{"node", fate.node},
                     {"fate", name_of(fate.kind)},
                     {"steps", fate.steps},
                     {"reason", fate.reason}});
  }
  const Json all = {{"format", "sardonyx-journal"},
                    {"version", 1},
                    {"steps", std::move(steps)},
                    {"nodes", std::move(nodes)},
                    {"passes", journal.passes}};
  std::string text = all.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // the end of the object, to which more comes
  return text + ",\n \"replacements\": " + replacements + "\n}\n";
}

Result<std::string> text_at(const ShowFlags& flags) {
  if ((flags.summary || !flags.explain.empty()) && flags.stage != "inferred")
    return fail("SDX-C0038", "--explain and --summary belong to --at inferred");
  if (flags.journal && (flags.stage != "plan" || flags.format == "svg" || flags.format == "dot"))
    return fail("SDX-C0039", "--journal belongs to --at plan, as text or JSON");
  if (flags.format == "json" && flags.stage != "plan")
    return fail("SDX-C0039", "only a plan has a JSON form: --at plan");
  if (flags.stage == "streamed")
    return text_streamed(flags.model, flags.axis, flags.engine, flags.inputs);
  SDX_ASSIGN(const auto model, flags.engine.limits.read(flags.model));
  const bool draws = flags.format == "svg" || flags.format == "dot";
  if (draws && flags.stage == "plan") {
    return fail("SDX-C0070", "a plan has no drawing; --at typed or optimized has");
  }
  if (!draws && flags.stage == "model") return listing(*model);
  SDX_ASSIGN(CompileOptions options, flags.engine.options());
  SDX_TRY(flags.inputs.complete(*model, options));
  options.journal = flags.journal;
  const auto progress = std::make_shared<Progress>("planning", "operators");
  options.progress = [progress](size_t done, size_t total) { progress->at(done, total); };
  if (!draws && flags.stage == "inferred") return text_inferred(model, flags, options);
  SDX_ASSIGN(const typed::Graph graph, type(model, options));
  if (draws && flags.stage != "optimized") return drawn(graph.without_dead(), flags.format);
  if (flags.stage == "checked") return listing(*model);
  if (flags.stage == "typed") return typed::print(graph.without_dead());
  SDX_ASSIGN(const auto compiled, compile(graph, options));
  if (flags.stage == "optimized") return drawn(compiled->graph(), flags.format);
  SDX_ASSIGN(const auto plan, compiled->plan_under({}));
  if (!flags.journal && flags.format == "json")
    return certificate::of(*compiled, {}, std::filesystem::path(flags.model).filename().string());
  if (!flags.journal) return plan::to_text(*plan);
  SDX_ASSIGN(const Journal journal, journal_of(*model, *plan));
  if (flags.format != "json") return journal.text();
  SDX_ASSIGN(
      const std::string replacements,
      certificate::replacements(graph, {options.optimize, options.strict, options.isa}, *plan));
  return journal_json(journal, replacements);
}

}  // namespace

Command show_command(CommandLine program) {
  CommandLine app = program.command("show", "print a model at one stage of its road");
  auto flags = std::make_shared<ShowFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("--at", flags->stage,
             "model: as written; checked: the same, if valid; inferred: with types; typed, "
             "optimized: the typed graph; streamed: how its wires move along --axis; plan: steps, "
             "kernels and memory")
      .one_of({"model", "checked", "inferred", "typed", "optimized", "streamed", "plan"})
      .show_default();
  app.option("--format", flags->format,
             "text, or a drawing of the graph: svg, or dot for Graphviz; json, of a plan: its "
             "certificate, or its journal")
      .one_of({"text", "svg", "dot", "json"})
      .show_default();
  app.option("--axis", flags->axis, "at streamed: the open size along which rows come");
  flags->inputs.add_sizes_to(app);
  app.option("--explain", flags->explain,
             "at inferred: why this value has its type, rank and dimensions");
  app.flag("--summary", flags->summary, "at inferred: how much is known, in counts");
  app.flag("--journal", flags->journal,
           "at plan: the model's nodes that each step stems from, the rules that led there, "
           "and what became of each node");
  flags->engine.add_to(app);
  return {app, [flags] {
            const Result<std::string> text = text_at(*flags);
            if (!text) return report(text.error());
            std::fputs(printable(*text, true).c_str(), stdout);
            return kOk;
          }};
}

}  // namespace sdx::cli
