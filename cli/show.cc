// sardonyx show: the model at any stage of its road, as text.
#include <cstdio>

#include "draw.h"
#include "inputs.h"
#include "listing.h"
#include "typed/text.h"

namespace sdx::cli {
namespace {

struct Flags {
  std::string model, stage = "model", format = "text";
  EngineFlags engine;
  InputFlags inputs;
};

std::string drawn(const typed::Graph& graph, const std::string& format) {
  return format == "dot" ? to_dot(graph) : format == "svg" ? to_svg(graph) : typed::print(graph);
}

Result<std::string> text_at(const Flags& flags) {
  SDX_ASSIGN(const auto model, model::read_file(flags.model));
  const bool draws = flags.format != "text";
  if (draws && flags.stage == "plan") {
    return fail("SDX-C0070", "a plan has no drawing; --at typed or optimized has");
  }
  if (!draws && flags.stage == "model") return listing(*model);
  SDX_ASSIGN(CompileOptions options, flags.engine.options());
  SDX_ASSIGN(options.set, flags.inputs.bindings(*model));
  std::map<std::string, typed::Outlet> wires;
  SDX_ASSIGN(const typed::Graph graph, type(model, options, &wires));
  if (draws && flags.stage != "optimized") return drawn(graph.without_dead(), flags.format);
  if (flags.stage == "checked") return listing(*model);
  if (flags.stage == "inferred") {
    Types types;
    for (const auto& [name, outlet] : wires) types.emplace(name, graph.fact(outlet));
    return listing(*model, types);
  }
  if (flags.stage == "typed") return typed::print(graph.without_dead());
  SDX_ASSIGN(const auto compiled, compile(graph, options));
  if (flags.stage == "optimized") return drawn(compiled->graph(), flags.format);
  SDX_ASSIGN(const auto plan, compiled->plan_under({}));
  return plan::to_text(*plan);
}

}  // namespace

Command show_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("show", "print a model at one stage of its road");
  auto flags = std::make_shared<Flags>();
  app->add_option("model", flags->model, "an .onnx file, or its text (.txt)")->required();
  app->add_option("--at", flags->stage,
                  "model: as written; checked: the same, if valid; inferred: with types; typed, "
                  "optimized: the typed graph; plan: steps, kernels and memory")
      ->check(CLI::IsMember({"model", "checked", "inferred", "typed", "optimized", "plan"}))
      ->capture_default_str();
  app->add_option("--format", flags->format,
                  "text, or a drawing of the graph: svg, or dot for Graphviz")
      ->check(CLI::IsMember({"text", "svg", "dot"}))
      ->capture_default_str();
  app->add_option("--set", flags->inputs.sizes, "the size of a symbolic dimension: DIM=V")
      ->take_all();
  flags->engine.add_to(*app);
  return {app, [flags] {
            const Result<std::string> text = text_at(*flags);
            if (!text) return report(text.error());
            std::fputs(text->c_str(), stdout);
            return kOk;
          }};
}

}  // namespace sdx::cli
