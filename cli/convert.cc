// sardonyx convert: a model written anew.
#include <filesystem>

#include "bytes/file.h"
#include "command.h"
#include "infer/inline.h"
#include "model/tensor.h"
#include "model/text.h"
#include "model/walk.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string in, out;
  bool embed = false, inline_functions = false, inline_operators = false;
  LimitFlags limits;
};

Status write(const model::Model& model, const std::string& path) {
  if (!model::is_text_path(path)) return model::write_file(model, path);
  const std::string text = model::print_text(model);
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

Status convert(const Flags& flags) {
  if (!flags.out.ends_with(".onnx") && !model::is_text_path(flags.out)) {
    return fail("SDX-C0060", "\"{}\": models are written as .onnx, or as text as .txt or .onnxtxt",
                flags.out);
  }
  SDX_ASSIGN(const auto read, flags.limits.read(flags.in));
  model::Model model = *read;
  if (flags.inline_functions || flags.inline_operators) {
    Result<model::Model> made = infer::inline_functions(
        model, {.operators = flags.inline_operators, .most_nodes = flags.limits.most_nodes()});
    if (!made) return std::move(made).error().in(flags.in);
    model = *std::move(made);
  }
  if (flags.embed) {
    SDX_TRY(model::embed_external(model));
    return write(model, flags.out);
  }
  std::error_code ignored;
  const bool moved = fs::weakly_canonical(fs::path(flags.in).parent_path(), ignored) !=
                     fs::weakly_canonical(fs::path(flags.out).parent_path(), ignored);
  bool external = false;
  SDX_TRY(model::each_tensor(model, [&](const model::TensorData& tensor) -> Status {
    external = external || tensor.data_location == model::DataLocation::external;
    return ok();
  }));
  if (moved && external) {
    Error error =
        fail("SDX-C0061", "the model's external data stays beside {}, where {} would not find it",
             flags.in, flags.out);
    error.help = "--embed puts the data into the file";
    return error;
  }
  return write(model, flags.out);
}

}  // namespace

Command convert_command(CommandLine program) {
  CommandLine app = program.command("convert", "write a model anew");
  auto flags = std::make_shared<Flags>();
  app.option("in", flags->in, "an .onnx file, or one in ONNX's text syntax (.txt, .onnxtxt)")
      .required();
  app.option("out", flags->out, "the file to write, in the form that its name says").required();
  app.flag("--embed", flags->embed, "put external data into the file");
  app.flag("--inline", flags->inline_functions,
           "put the bodies of functions in the place of their calls");
  app.flag("--inline-ops", flags->inline_operators,
           "the same, also for operators that ONNX defines as functions");
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = convert(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
