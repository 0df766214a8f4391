// sardonyx inputs: what a model takes, and drawn inputs as files.
#include <cstdio>

#include "api/digest.h"
#include "base/printable.h"
#include "inputs.h"
#include "json.h"
#include "outputs.h"
#include "tools.h"

namespace sdx::cli {
namespace {

struct DrawInputsFlags {
  std::string model, output_dir, format = "pb";
  InputFlags inputs;
  LimitFlags limits;
  bool json = false;
};

void say(const DrawInputsFlags& flags, const typed::Graph& graph,
         const std::vector<Value>& values) {
  Json list = Json::array();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const typed::Outlet source = graph.inputs()[i];
    const std::string& name = graph.node(source.node).use.name;
    const Fact fact = values.empty() ? graph.fact(source) : fact_of(values[i]);
    Json entry = {{"name", name}};
    entry.update(json_of(fact));
    if (!values.empty()) {
      Json digests = Json::array();
      for (const DigestLine& line : digest(name, values[i])) digests.push_back(line.sha256);
      entry["digests"] = std::move(digests);
    }
    list.push_back(std::move(entry));
    if (flags.json) continue;
    if (values.empty()) {
      std::printf("%s %s\n", printable(name).c_str(), fact.text().c_str());
    } else {
      for (const DigestLine& line : digest(name, values[i]))
        std::printf("%s\n", printable(line.text()).c_str());
    }
  }
  if (flags.json)
    print_json({{"model", flags.model}, {"folder", flags.output_dir}, {"inputs", std::move(list)}});
}

Status inputs(const DrawInputsFlags& flags) {
  SDX_ASSIGN(const auto model, flags.limits.read(flags.model));
  CompileOptions options;
  options.most_nodes = flags.limits.most_nodes();
  SDX_TRY(flags.inputs.complete(*model, options));
  SDX_ASSIGN(const typed::Graph graph, type(model, options));
  const bool given = flags.inputs.seed || !flags.inputs.files.empty();
  if (!flags.output_dir.empty() && !given) {
    Error error = fail("SDX-C0067", "nothing says which inputs to write");
    error.help = "--random SEED draws them";
    return error;
  }
  std::vector<Value> values;
  if (given) {
    std::vector<std::string> assumed;
    SDX_ASSIGN(values, flags.inputs.values(*model, graph, &assumed));
    for (const std::string& symbol : assumed)
      std::fprintf(stderr, "note: %s = 1; --set %s=V gives another size\n", symbol.c_str(),
                   symbol.c_str());
  }
  if (!flags.output_dir.empty()) {
    std::vector<Written> written;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string& name = graph.node(graph.inputs()[i].node).use.name;
      for (const model::ValueInfo& info : model->graph->input) {
        if (info.name == name) written.push_back({info, values[i]});
      }
    }
    SDX_TRY(
        write_values(written, flags.output_dir, format_named(flags.format), {"input", "inputs"}));
  }
  say(flags, graph, values);
  return ok();
}

}  // namespace

Command inputs_command(CommandLine program) {
  CommandLine app = program.command("inputs", "what a model takes; drawn inputs, as files");
  auto flags = std::make_shared<DrawInputsFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  flags->inputs.add_to(app);
  app.option("--output-dir", flags->output_dir, "write input_0.pb, input_1.pb ... here");
  app.option("--format", flags->format,
             "of these files: pb, ONNX's; npy, numpy's; npz, all in inputs.npz by their names")
      .one_of({"pb", "npy", "npz"})
      .show_default();
  app.flag("--json", flags->json, "as one JSON object");
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = inputs(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
