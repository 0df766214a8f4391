// sardonyx run: a model's outputs for given inputs, as files, as digests or as a line each.
#include <cstdio>

#include "api/digest.h"
#include "load.h"
#include "outputs.h"

namespace sdx::cli {
namespace {

struct Flags {
  std::string model, output_dir;
  EngineFlags engine;
  InputFlags inputs;
  bool digest = false;
};

Status run(const Flags& flags) {
  SDX_ASSIGN(const Loaded loaded, load(flags.model, flags.engine, flags.inputs));
  run::Session session(loaded.compiled);
  Result<std::vector<Value>> outputs = session.run(loaded.inputs);
  if (!outputs) return std::move(outputs).error().in(flags.model);
  if (!flags.output_dir.empty()) SDX_TRY(write_outputs(*loaded.model, *outputs, flags.output_dir));
  for (size_t i = 0; i < outputs->size(); ++i) {
    const std::string& name = loaded.model->graph->output[i].name;
    if (flags.digest) {
      for (const DigestLine& line : digest(name, (*outputs)[i]))
        std::printf("%s\n", line.text().c_str());
    } else if (flags.output_dir.empty()) {
      std::printf("%s\n", summary(name, (*outputs)[i]).c_str());
    }
  }
  return ok();
}

}  // namespace

Command run_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "run a model");
  auto flags = std::make_shared<Flags>();
  app->add_option("model", flags->model, "an .onnx file, or its text (.txt)")->required();
  flags->inputs.add_to(*app);
  app->add_option("--output-dir", flags->output_dir,
                  "write output_0.pb, output_1.pb ... here, all or none");
  app->add_flag("--digest", flags->digest, "print NAME TYPE SHAPE SHA-256 of every output");
  flags->engine.add_to(*app);
  return {app, [flags] {
            const Status status = run(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
