// sardonyx convert: a model written anew.
#include "batch.h"
#include "command.h"
#include "infer/inline.h"
#include "opset_flag.h"
#include "write_model.h"

namespace sdx::cli {
namespace {

struct ConvertFlags {
  std::string in, batch;
  OpsetFlags opset;
  Writing writing;
  bool inline_functions = false, inline_operators = false;
  LimitFlags limits;
};

Status convert(const ConvertFlags& flags) {
  SDX_TRY(can_be_written(flags.writing.out));
  SDX_ASSIGN(const auto read, flags.limits.read(flags.in));
  model::Model model = *read;
  if (flags.inline_functions || flags.inline_operators) {
    Result<model::Model> made = infer::inline_functions(
        model, {.operators = flags.inline_operators, .most_nodes = flags.limits.most_nodes()});
    if (!made) return std::move(made).error().in(flags.in);
    model = *std::move(made);
  }
  if (flags.opset.given()) {
    Result<model::Model> made = flags.opset.write(model, flags.limits);
    if (!made) return std::move(made).error().in(flags.in);
    model = *std::move(made);
  }
  if (!flags.batch.empty()) {
    Result<model::Model> made = with_batch(model, flags.batch, flags.limits);
    if (!made) return std::move(made).error().in(flags.in);
    model = *std::move(made);
  }
  Writing writing = flags.writing;
  writing.in = flags.in;
  return write_model(std::move(model), writing);
}

}  // namespace

Command convert_command(CommandLine program) {
  CommandLine app = program.command("convert", "write a model anew");
  auto flags = std::make_shared<ConvertFlags>();
  app.option("in", flags->in, "an .onnx file, or one in ONNX's text syntax (.txt, .onnxtxt)")
      .required();
  app.option("out", flags->writing.out, "the file to write, in the form that its name says")
      .required();
  app.flag("--embed", flags->writing.embed, "put external data into the file");
  app.option("--external", flags->writing.external,
             "put weights into this file, beside the model's");
  app.option("--external-from", flags->writing.least,
             "bytes that a weight has at least to go there")
      .show_default();
  app.option("--batch", flags->batch,
             "the size of the inputs' first dimension: a number, or a name to leave it open; the "
             "model's rows are proved to stay what they are")
      .called("N|NAME");
  app.flag("--inline", flags->inline_functions,
           "put the bodies of functions in the place of their calls");
  app.flag("--inline-ops", flags->inline_operators,
           "the same, also for operators that ONNX defines as functions");
  flags->opset.add_to(app);
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = convert(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
