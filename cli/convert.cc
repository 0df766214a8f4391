// sardonyx convert: a model written anew.
#include <filesystem>

#include "command.h"
#include "model/tensor.h"
#include "model/walk.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string in, out;
  bool embed = false;
};

Status convert(const Flags& flags) {
  if (!flags.out.ends_with(".onnx"))
    return fail("SDX-C0060", "\"{}\": models are written as .onnx", flags.out);
  SDX_ASSIGN(const auto read, model::read_file(flags.in));
  model::Model model = *read;
  if (flags.embed) {
    SDX_TRY(model::embed_external(model));
    return model::write_file(model, flags.out);
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
  return model::write_file(model, flags.out);
}

}  // namespace

Command convert_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("convert", "write a model anew");
  auto flags = std::make_shared<Flags>();
  app->add_option("in", flags->in, "an .onnx file")->required();
  app->add_option("out", flags->out, "the file to write")->required();
  app->add_flag("--embed", flags->embed, "put external data into the file");
  return {app, [flags] {
            const Status status = convert(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
